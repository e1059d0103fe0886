"""The report in a real browser."""

import pytest

from dendrocap.reproduction import reproduce, write_report

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_the_report_opens_with_every_picture(tmp_path, open_page, width, dark):
    made = reproduce(["1", "2", "9"], out=tmp_path)
    html = write_report(made)
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    html = html.rename(moved / "report.html")  # away from all other files
    page = open_page(html.as_uri(), width=width, color_scheme="dark" if dark else "light")
    sizes = page.eval_on_selector_all("img", "all => all.map(one => one.complete && one.naturalWidth)")
    assert len(sizes) == 6
    assert all(size > 300 for size in sizes)
    assert page.locator("section").count() == 14
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), (
        "the page is wider than the screen"
    )
    column = page.evaluate("document.querySelector('section').getBoundingClientRect().right")
    edges = page.eval_on_selector_all("img, td", "all => all.map(one => one.getBoundingClientRect().right)")
    assert max(edges) <= column + 0.5  # pictures and cells stay within their column
    named = "getComputedStyle(document.querySelector('#fig9 td'), '::before').content"
    cards = page.evaluate("getComputedStyle(document.querySelector('#fig9 tbody tr')).display") == "block"
    assert cards == (width < 720)
    assert ("claim" in page.evaluate(named)) == cards
    shown = page.locator("#fig9").inner_text()
    for judged in made.claims_of("fig9"):
        assert judged.value in shown
        assert judged.verdict in shown
    with page.expect_download() as download:
        page.locator("#fig9 a[download='fig9.csv']").click()
    assert download.value.path().read_bytes() == made.path("fig9.csv").read_bytes()
