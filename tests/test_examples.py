"""The tool that runs the command lines of pages: which lines it finds, and which differences it tells."""

import pytest

from studies.examples import NOT_RUN, differences, short, shown_lines


def test_lines_of_questions_help_texts_and_pages_are_found():
    lines = shown_lines()
    for shown, command in (
        ("dendrocap saddle-point --alpha 0.5", "saddle-point"),  # a question
        (
            "dendrocap sweep export capacity.png --x theta_d --y alpha_c --by nonlinearity",
            "sweep export",
        ),  # a help
        ("dendrocap sweep run capacity.toml --store capacity.db", "sweep run"),  # a block of code
        ("dendrocap datasets mnist", "datasets"),  # with a comment behind it
        ("dendrocap sweep jobs train", "sweep jobs"),  # within a sentence
    ):
        assert lines[shown].command == command
        assert lines[shown].takes_json
    assert not any(NOT_RUN.search(shown) for shown in lines)


def test_options_make_a_line_smaller_and_ask_for_json():
    line = shown_lines()["dendrocap sweep run loads.toml --store loads.db --workers 2"]
    assert line.words()[-3:] == ["--workers", "1", "--json"]
    given = shown_lines()["dendrocap capacity -N 999 -K 27 --json"]
    assert given.words().count("--json") == 1


BEST = {"accuracy": "best", "alpha_c": 2.0, "error": 0.1, "paper_alpha_c": 4.0, "estimates": {"replica symmetric": 4.0}}


@pytest.mark.parametrize(
    ("old", "new", "rtol", "told"),
    [
        ({"q": 1.0}, {"q": 1.0 + 1e-7}, 1e-6, []),
        ({"q": 1.0}, {"q": 1.0 + 1e-5}, 1e-6, [".q: 1.0 -> 1.00001"]),
        ([{"solved": True}], [{"solved": False}], 1e-6, ["[0].solved: True -> False"]),
        ({"q": 1.0}, {}, 1e-6, [".q is gone"]),
        ({"q": [1.0, 2.0]}, {"q": [1.0]}, 1e-6, [".q: [1.0, 2.0] -> [1.0]"]),
        ({"errors": 3}, {"errors": None}, 1e-6, [".errors: 3 -> None"]),
        ({"note": "some words"}, {"note": "other words"}, 1e-6, ["~.note: 'some words' -> 'other words'"]),
        (BEST, {**BEST, "alpha_c": 2.09}, 1e-6, []),
        (BEST, {**BEST, "alpha_c": 2.2}, 1e-6, [".alpha_c: 2.0 -> 2.2"]),
        (BEST, {**BEST, "paper_alpha_c": 4.01}, 1e-6, [".paper_alpha_c: 4.0 -> 4.01"]),
        (BEST, {**BEST, "estimates": {"replica symmetric": 4.01}}, 1e-6, [".estimates.replica symmetric: 4.0 -> 4.01"]),
    ],
)
def test_what_differs_is_told(old, new, rtol, told):
    assert list(differences(old, new, rtol)) == told


def test_what_is_stored_is_short_and_without_times():
    assert short({"x": 1 / 3, "seconds": 2.0, "bad": float("inf")}) == {"x": 0.333333333333, "bad": "inf"}
    assert short([1.0] * 300) == {"length": 300, "sum": 300.0, "first": [1.0] * 10}
    assert short([{"x": i, "y": 0.5} for i in range(7)]) == {"rows": 7, "x": list(range(7)), "y": 0.5}
