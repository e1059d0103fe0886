"""`make quick` chooses the tests of what changed."""

from tests.quick import files_to_test


def test_a_module_brings_the_tests_that_use_it_and_its_examples():
    chosen = files_to_test({"src/dendrocap/fitting/curve.py"})
    assert {"tests/fitting/test_dendritic_curve.py", "tests/test_layers.py", "src/dendrocap/fitting/curve.py"} <= set(
        chosen
    )
    assert not any(path.startswith(("tests/theory", "tests/sweeps")) for path in chosen)


def test_compiled_code_brings_the_tests_of_its_callers():
    chosen = files_to_test({"src/dendrocap/finite_size/_kernels.py"})
    assert any(path.endswith("test_finite_soma.py") for path in chosen)


def test_commands_pages_and_tests_bring_their_own():
    assert "tests/cli/test_sweep.py" in files_to_test({"src/dendrocap/cli/sweep.py"})
    assert "tests/documentation" in files_to_test({"docs/limits.md"})
    assert "tests/model/test_neuron.py" in files_to_test({"tests/model/test_neuron.py"})
