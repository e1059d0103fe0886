"""Compiled code on disk is taken only if nothing that it is made of has changed, and never stops anything."""

import errno
import logging
import os
import shutil
import subprocess
import sys
from importlib import import_module, invalidate_caches
from pathlib import Path

import numba
import pytest
from numba.core.caching import CacheImpl, FunctionCache, IndexDataCacheFile

import dendrocap
from dendrocap.numerics import _caching

PACKAGE = Path(dendrocap.__file__).parent
TOY = {
    "deep.py": "LEVEL = 100.0\n",
    "plain.py": '"""Re-exports."""\nfrom toy.deep import LEVEL\n',
    "within/__init__.py": "",
    "within/_callee.py": """from toy.numerics._caching import njit
@njit(cache=True)
def called(x):
    return 3.0 * x
""",
    "_caller.py": """from toy.numerics._caching import njit
from toy.plain import (
    LEVEL,
)
from toy.within._callee import called
@njit(cache=True)
def asked(x):
    return called(x) + LEVEL
""",
    "unrelated.py": "",
    "foreign.py": "import numba\n@numba.njit(cache=True)\ndef foreign(x):\n    return x\n",
    "__init__.py": "",
    "numerics/__init__.py": "",
}


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A package of two compiled modules with the cache of ours."""
    package = tmp_path / "toy"
    for name, text in TOY.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    shutil.copy(_caching.__file__, package / "numerics")
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # edits within one second are seen
    yield package
    forget()


def forget():
    for name in [name for name in sys.modules if name.partition(".")[0] == "toy"]:
        del sys.modules[name]


def ask(x=2.0):
    """The answer of the caller in a package imported anew, and whether it came from the disk."""
    forget()
    invalidate_caches()
    asked = import_module("toy._caller").asked
    return asked(x), sum(asked.stats.cache_hits.values()) == 1


def stored(folder):
    return sorted(folder.rglob("*asked*.nbc"))


def edit(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.fixture(params=["in the tree", "NUMBA_CACHE_DIR", "read-only tree"])
def folder(request, toy, tmp_path, monkeypatch):
    """Where compiled code is stored: the three places that Numba tries in turn."""
    if request.param == "in the tree":
        return toy
    if request.param == "NUMBA_CACHE_DIR":
        monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "chosen"))
        return tmp_path / "chosen"
    for inside in (toy, toy / "within"):
        (inside / "__pycache__").write_text("in the way, as a folder that cannot be written is")
    monkeypatch.setattr("numba.core.caching.AppDirs.user_cache_dir", str(tmp_path / "user"))
    return tmp_path / "user"


def test_a_caller_is_compiled_again_when_what_it_calls_or_reads_has_changed(toy, folder):
    assert ask() == (106.0, False)
    assert stored(folder)
    assert ask() == (106.0, True)
    edit(toy / "within" / "_callee.py", "3.0", "4.0")
    assert ask() == (108.0, False)
    edit(toy / "deep.py", "100.0", "200.0")
    assert ask() == (208.0, False)
    edit(toy / "deep.py", "200.0", "100.0")
    edit(toy / "within" / "_callee.py", "4.0", "3.0")
    assert ask() == (106.0, False)
    assert len(stored(folder)) == 1  # what is stale is replaced


def test_dates_and_modules_that_compiled_code_does_not_reach_do_not_count(toy):
    ask()
    (toy / "unrelated.py").write_text("CHANGED = 1\n")
    for path in toy.rglob("*.py"):
        os.utime(path, (1e9, 1e9))
    assert ask() == (106.0, True)


def test_other_versions_of_numba_compile_again(toy, monkeypatch):
    ask()
    monkeypatch.setattr(numba, "__version__", "0.1")
    assert ask() == (106.0, False)


def test_code_of_sources_that_changed_after_their_import_is_not_stored(toy):
    forget()
    asked = import_module("toy._caller").asked
    edit(toy / "within" / "_callee.py", "3.0", "4.0")
    assert asked(2.0) == 106.0
    assert not stored(toy)


def test_code_of_another_signature_is_not_taken(toy):
    """As when two processes that wrote at once had taken one name."""
    ask()
    (of_numbers,) = stored(toy)
    assert ask(2) == (106.0, False)
    (of_integers,) = set(stored(toy)) - {of_numbers}
    shutil.copy(of_integers, of_numbers)
    assert ask(2.5) == (107.5, False)
    assert ask(2.5) == (107.5, True)


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def blank(path):
    """Zeros in the machine code, of which no unpickler complains."""
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2] + bytes(len(content) // 4) + content[3 * len(content) // 4 :])


def unreadable(path):
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("damage", [cut, blank, unreadable, lambda path: path.write_bytes(b"")])
def test_damaged_files_are_compiled_again_with_one_line(toy, damage, caplog):
    caplog.set_level(logging.WARNING)
    ask()
    files = list(toy.rglob("*.nbc"))
    assert len(files) == 2
    for path in files:
        damage(path)
    assert ask() == (106.0, False)
    ask(3)  # a second signature: nothing more to say
    (line,) = caplog.messages
    assert "\n" not in line
    if damage is not unreadable:  # those of root cannot be; a folder stands for them, which no file replaces
        caplog.clear()
        assert ask() == (106.0, True)
        assert not caplog.messages


def test_a_full_disk_stops_nothing(toy, monkeypatch, caplog):
    def full(self, path):
        raise OSError(errno.ENOSPC, "No space left on device", path)

    monkeypatch.setattr(IndexDataCacheFile, "_open_for_write", full)
    assert ask() == (106.0, False)
    (line,) = caplog.messages
    assert "No space left" in line


def test_no_folder_to_write_to_stops_nothing(toy, monkeypatch, caplog):
    monkeypatch.setattr(CacheImpl, "_locator_classes", [])
    assert ask() == (106.0, False)
    (line,) = caplog.messages
    assert "no locator" in line


def test_stored_code_is_taken_without_what_numba_compiles_with(toy):
    code = "import sys; from toy._caller import asked; print(asked(2.0), 'numba.cpython.unicode' in sys.modules)"
    settings = {**os.environ, "PYTHONPATH": str(toy.parent), "NUMBA_CACHE_DIR": ""}
    said = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=settings).stdout
        for _ in range(2)
    ]
    assert said == ["106.0 True\n", "106.0 False\n"]


def test_flushed_code_is_gone(toy):
    ask()
    sys.modules["toy._caller"].asked._cache.flush()
    assert not stored(toy)


def test_functions_of_others_are_cached_as_numba_does(toy):
    before = list(CacheImpl._locator_classes)
    ask()
    foreign = import_module("toy.foreign").foreign
    foreign(1.0)
    assert type(foreign._cache) is FunctionCache
    assert list(toy.glob("__pycache__/foreign*.nbi"))
    assert before == CacheImpl._locator_classes


def test_every_function_of_ours_has_the_cache_of_ours():
    cached = 0
    for path in PACKAGE.rglob("_[!_]*.py"):
        module = import_module(".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts))
        for value in vars(module).values():
            if getattr(value, "stats", None) and value.stats.cache_path:
                assert type(value._cache) is _caching._Cache, value
                cached += 1
    assert cached > 50


ASK = """
from dendrocap import NeuronSpec, Polsky, TaskSpec, critical_capacity
print(critical_capacity(NeuronSpec(Polsky(), 0.5, 0.5), TaskSpec()).alpha_c)
"""


@pytest.mark.slow
def test_a_changed_non_linearity_reaches_the_theory_and_cut_files_end_no_command(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "dendrocap", ignore=shutil.ignore_patterns("__pycache__"))
    settings = {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1", "NUMBA_CACHE_DIR": ""}

    def answer(**more):
        command = [sys.executable, "-c", ASK]
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, env={**os.environ, **settings, **more}
        )
        return float(done.stdout), done.stderr.splitlines()

    before, said = answer()
    assert not said
    edit(
        tmp_path / "dendrocap" / "model" / "_compiled.py",
        "height * (1.0 - decay) * share",
        "0.9 * height * (1.0 - decay) * share",
    )
    after, said = answer()
    assert not said
    assert abs(after - before) > 1e-3
    assert answer(NUMBA_CACHE_DIR=str(tmp_path / "fresh")) == (after, [])
    for path in tmp_path.glob("dendrocap/**/*.nbc"):
        cut(path)
    again, said = answer()
    assert again == after
    assert len(said) == 1
    assert answer() == (after, [])
