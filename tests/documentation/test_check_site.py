"""The check of the built site finds what it should find."""

import subprocess
import sys

import pytest

from tests.documentation.sources import DOCS, script

check = script("check_site.py")

GOOD = (
    '<html><head><link rel="stylesheet" href="a.css"></head><body id="top"><a href="b.html#there">b</a></body></html>'
)


def site(folder, first=GOOD, second='<p id="there">b</p>', sheet="body { color: red }"):
    for name, text in (("index.html", first), ("b.html", second), ("a.css", sheet)):
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_a_sound_site_passes(tmp_path):
    assert check.problems(site(tmp_path)) == []
    outcome = subprocess.run(
        [sys.executable, DOCS / "check_site.py", tmp_path], capture_output=True, text=True, check=True
    )
    assert "2 pages" in outcome.stdout


def test_broken_links_and_anchors_are_found(tmp_path):
    assert check.problems(site(tmp_path, first='<a href="c.html">c</a>')) == ["index.html: c.html leads nowhere"]
    assert check.problems(site(tmp_path, second="<p>b</p>")) == ["index.html: b.html#there has no such anchor"]
    assert check.problems(site(tmp_path, first='<img src="x%20y.png" alt="a red curve">')) == [
        "index.html: x%20y.png leads nowhere"
    ]
    assert check.problems(site(tmp_path, first='<a href="#nowhere">up</a>')) == [
        "index.html: #nowhere has no such anchor"
    ]


def test_what_needs_a_network_is_found(tmp_path):
    loaded = check.problems(site(tmp_path, first='<script src="https://cdn.example.org/x.js"></script>'))
    assert loaded == ["index.html: loads https://cdn.example.org/x.js from elsewhere"]
    assert len(check.problems(site(tmp_path, sheet="@import url(https://fonts.example.org/f.css);"))) == 1
    # a link that a reader may follow is none of that
    assert check.problems(site(tmp_path, first='<a href="https://example.org">e</a>')) == []


@pytest.mark.parametrize("words", ["", 'alt=""', 'alt="_images/0519c6bc9b55.png"', 'alt="fig3"'])
def test_a_picture_without_words_is_found(tmp_path, words):
    (tmp_path / "p.png").touch()
    (found,) = check.problems(site(tmp_path, first=f'<img src="p.png" {words}>'))
    assert found.startswith("index.html: p.png has no words")
    assert check.problems(site(tmp_path, first='<img src="p.png" alt="Capacity against threshold">')) == []
