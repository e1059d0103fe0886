"""The page in a real browser; every test also fails on an error in the console or a request to another machine."""

import contextlib
import io
import re
import time

import psutil
import pytest

import dendrocap as dc
from dendrocap.explorer.links import to_query
from dendrocap.explorer.parameters import SLIDERS, Parameters
from dendrocap.explorer.presets import preset
from dendrocap.explorer.views import key_numbers, view
from tests.explorer.serving import explorer

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def server(browser):  # where there is no browser, no server is started
    with explorer() as (process, address):
        yield process, address
    assert process.returncode == 0
    assert "Traceback" not in process.log, process.log


@pytest.fixture
def load(server, open_page):
    def loaded(query="", **options):
        page = open_page(f"{server[1]}?{query}" if query else server[1], **options)
        page.wait_for_function("document.body.dataset.serial !== undefined")
        return page

    return loaded


def wait_for(page, name, text):
    page.wait_for_function(
        "([id, text]) => document.getElementById(id).textContent === text", arg=[name, text], timeout=20_000
    )


def alpha_c(**settings):
    return key_numbers(view(Parameters(**settings)))["alpha_c"]


def drawn(page, column="alpha_c"):
    """The marked point of the capacity curve, as the browser's own copy of the figure has it."""
    return page.evaluate(
        """(column) => {
            const sources = [...Bokeh.documents[0]._all_models.values()].filter((m) => m.type === 'ColumnDataSource')
            const points = sources.map((s) => s.data[column]).filter((c) => c && c.length === 1).map((c) => c[0])
            return points
        }""",
        column,
    )


def test_a_typed_threshold_moves_capacity_to_the_value_of_the_api(load):
    page = load()
    wait_for(page, "alpha_c", alpha_c())
    page.fill("#theta_d-number", "0.05")
    page.press("#theta_d-number", "Enter")
    expected = dc.critical_capacity(dc.NeuronSpec(dc.Polsky(), 0.05, 0.5)).alpha_c
    wait_for(page, "alpha_c", f"{expected:.4f}")
    assert expected in drawn(page)
    page.wait_for_function("location.search.includes('theta_d=0.05&')")


def test_a_slider_moved_by_keys_and_by_mouse(load):
    page = load()
    wait_for(page, "alpha_c", alpha_c())
    page.focus("#theta_d-range")
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    value = float(page.input_value("#theta_d-number"))
    assert 0.5 < value < 0.6
    wait_for(page, "alpha_c", alpha_c(theta_d=value))
    box = page.locator("#gamma-range").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    for step in range(1, 31):  # faster than the server solves: nothing may queue up or get lost
        page.mouse.move(box["x"] + box["width"] * (0.5 + step / 100), box["y"] + box["height"] / 2)
    page.mouse.up()
    gamma = float(page.input_value("#gamma-number"))
    assert gamma > 30
    wait_for(page, "alpha_c", alpha_c(theta_d=value, gamma=gamma))


def test_presets(load):
    page = load()
    page.click("text=Song 2005 fit")
    song = key_numbers(view(Parameters().changed(preset("song2005"))))
    wait_for(page, "alpha_c", song["alpha_c"])
    assert page.inner_text("#silent_fraction") == "76.00 %"
    assert page.inner_text("#theta_d_mv") == song["theta_d_mv"]
    page.click("[data-preset=linear]")
    wait_for(page, "alpha_c", "1.0000")
    page.wait_for_selector("#validity li.fine >> text=stable up to capacity")


def test_uploads_good_and_bad(load, tmp_path):
    good, bad = tmp_path / "good.csv", tmp_path / "bad.csv"
    good.write_text("x,y\n0,0\n0.25,0.05\n0.5,0.2\n1,1\n")
    bad.write_text("x,y\n0,0\n2,1\n1,<script>alert(1)</script>\n")
    page = load()
    page.click("text=Upload a measured curve")
    page.set_input_files("#file", good)
    curve = ((0.0, 0.0), (0.25, 0.05), (0.5, 0.2), (1.0, 1.0))
    expected = alpha_c(nonlinearity="tabulated", curve=curve)
    wait_for(page, "alpha_c", expected)
    assert page.input_value("#nonlinearity") == "tabulated"
    page.set_input_files("#file", bad)
    page.wait_for_selector("#problem >> text=is not a number")
    assert page.inner_text("#alpha_c") == expected
    (tmp_path / "large.csv").write_text("1,1\n" * 100_000)
    page.set_input_files("#file", tmp_path / "large.csv")
    page.wait_for_selector("#problem >> text=at most 100000 are allowed")
    (tmp_path / "binary.csv").write_bytes(bytes(range(256)))
    page.set_input_files("#file", tmp_path / "binary.csv")
    page.wait_for_selector("#problem >> text=is not a text file")
    page.wait_for_function("location.search.includes('curve=')")
    shared = page.url.split("?")[1]
    again = load(shared)
    wait_for(again, "alpha_c", expected)


def test_a_shared_link_shows_the_same_page(load):
    settings = {"nonlinearity": "saturating_relu", "theta_d": 0.123456789, "f_in": 0.3, "axis": "theta_s", "load": 1.25}
    page = load(to_query(Parameters(**settings)))
    wait_for(page, "alpha_c", alpha_c(**settings))
    assert page.input_value("#nonlinearity") == "saturating_relu"
    assert page.input_value("#axis") == "theta_s"
    assert page.input_value("#load-number") == "1.25"
    assert page.is_visible("#capacity-theta_s")
    assert page.is_hidden("#capacity-theta_d")
    page.reload()
    wait_for(page, "alpha_c", alpha_c(**settings))


def test_a_bad_link_gives_a_message_and_the_rest_of_the_page(load):
    page = load("theta_d=banana&f_in=0.3&evil=%3Cimg%20src=x%3E")
    page.wait_for_selector("#problem >> text=theta_d = 'banana' is not allowed")
    wait_for(page, "alpha_c", alpha_c(f_in=0.3))
    assert page.locator("#problem img").count() == 0


def test_a_bad_number_and_a_neuron_without_solution_give_messages(load):
    page = load()
    wait_for(page, "alpha_c", alpha_c())
    page.fill("#theta_d-number", "-3")
    page.press("#theta_d-number", "Enter")
    page.wait_for_selector("#problem >> text=theta_d = -3 is not allowed")
    wait_for(page, "alpha_c", alpha_c())
    page.fill("#theta_s-number", "1.5")
    page.press("#theta_s-number", "Enter")
    page.wait_for_selector("#no-solution >> text=strictly between 0 and 1")
    assert page.inner_text("#alpha_c") == "–"


def test_train_pause_and_stop(load):
    page = load(to_query(Parameters(load=3.0, train_inputs=300, train_branches=15, pace=100)))
    page.click("#tab-train")
    page.click("#start")
    page.wait_for_function("Number(document.getElementById('run-epoch').textContent.replace(',', '')) > 10")
    heights = page.evaluate(
        """[...Bokeh.documents[0]._all_models.values()].filter((m) => m.type === 'ColumnDataSource')
            .map((s) => s.data.top).filter((c) => c && c.length === 40).map((c) => [...c])[0]"""
    )
    assert 0.9 < sum(heights) * 5 / 40 < 1.001  # a density, up to five times the mean
    page.click("#pause")
    page.wait_for_selector("#training[data-state=paused]")
    paused = page.inner_text("#run-epoch")
    time.sleep(0.6)
    assert page.inner_text("#run-epoch") == paused
    page.click("#pause")
    page.wait_for_function("(epoch) => document.getElementById('run-epoch').textContent !== epoch", arg=paused)
    page.click("#stop")
    page.wait_for_selector("#training[data-state=ended]")
    assert page.inner_text("#run-text") == "asked to stop"
    assert re.fullmatch(r"\d+ of 900 \(best \d+\)", page.inner_text("#run-errors"))


def test_an_easy_run_is_solved_and_its_script_repeats_it(load):
    page = load(to_query(Parameters(load=0.5, train_inputs=99, train_branches=9, pace=1000)) + "#train")
    page.click("#start")
    page.wait_for_function("document.getElementById('run-text').textContent === 'solved'")
    page.click("#training details summary")
    page.wait_for_function("document.querySelector('#training code').textContent.includes('random_patterns')")
    names, _ = run(page.inner_text("#training code"))
    assert names["result"].epochs == int(page.inner_text("#run-epoch"))


def test_the_python_of_the_page_makes_its_numbers(load):
    page = load(to_query(Parameters(theta_d=0.21, kappa=0.1)))
    wait_for(page, "alpha_c", alpha_c(theta_d=0.21, kappa=0.1))
    page.click("#figures details summary")
    page.wait_for_function("document.querySelector('#figures code').textContent.includes('0.21')")
    names, printed = run(page.inner_text("#figures code"))
    assert page.inner_text("#alpha_c") in printed
    assert names["solution"].alpha_c in drawn(page)


def run(script):
    names, printed = {}, io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(script, "script", "exec"), names)
    return names, printed.getvalue()


@pytest.mark.parametrize(("name", "begins"), [("PNG", b"\x89PNG"), ("SVG", b"<?xml"), ("CSV", b"# dendrocap")])
def test_exports_are_downloaded(load, name, begins):
    page = load()
    page.wait_for_function("document.querySelector('[data-export]').href.includes('theta_d')")
    with page.expect_download() as download:
        page.click(f"#figures .button >> text={name}")
    assert download.value.suggested_filename == f"neuron.{name.lower()}"
    assert download.value.path().read_bytes().startswith(begins)


@pytest.mark.parametrize("size", [(1280, 720), (390, 844)], ids=["desk", "phone"])
def test_nothing_is_cut_off_and_dark_mode_reaches_the_figures(load, size):
    page = load(width=size[0], height=size[1], color_scheme="light")
    for tab in ("#tab-explore", "#tab-train"):
        page.click(tab)
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
        for number in page.locator(".numbers dd:visible").all():
            box = number.bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= size[0]
    page.click("#dark")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.wait_for_function(
        """[...Bokeh.documents[0]._all_models.values()].filter((m) => m.type === 'LinearAxis')
            .every((axis) => axis.axis_line_color === '#e8e6e3')"""
    )
    page.reload()  # the choice is remembered
    page.wait_for_function("document.documentElement.dataset.theme === 'dark'")


def test_a_dark_browser_gets_a_dark_page(load):
    assert load(color_scheme="dark").evaluate("document.documentElement.dataset.theme") == "dark"


def test_every_control_has_a_name_and_is_reached_by_the_tab_key(load):
    page = load()
    nameless = page.evaluate(
        """[...document.querySelectorAll('button, input, select, a')].filter((e) => !(e.textContent.trim()
            || e.getAttribute('aria-label') || (e.labels && e.labels.length))).map((e) => e.id)"""
    )
    assert nameless == []
    reached = set()
    for _ in range(80):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id"))
    sliders = [name for name in SLIDERS if page.locator(f"#{name}-range").is_visible()]
    assert len(sliders) == 9
    for name in sliders:
        assert {f"{name}-range", f"{name}-number"} <= reached
    assert {"nonlinearity", "axis", "tab-explore", "dark", "copy-link"} <= reached
    page.focus("#tab-explore")
    page.keyboard.press("ArrowRight")
    assert page.is_visible("#training")


def test_ten_tabs_at_once_all_get_their_own_answer(load):
    pages = [load()]
    for _ in range(9):
        pages.append(pages[0].context.new_page())
        pages[-1].goto(pages[0].url.split("?")[0])
    for page in pages:
        page.wait_for_function("document.body.dataset.serial !== undefined")
    for number, page in enumerate(pages):
        page.fill("#theta_d-number", str(0.1 + 0.01 * number))
        page.press("#theta_d-number", "Enter")
    for number, page in enumerate(pages):
        wait_for(page, "alpha_c", alpha_c(theta_d=float(str(0.1 + 0.01 * number))))


def test_a_run_ends_with_its_page(load, server):
    process = psutil.Process(server[0].pid)
    page = load(to_query(Parameters(load=5.0, train_inputs=300, train_branches=15, pace=10)) + "#train")
    before = process.num_threads()
    page.click("#start")
    page.wait_for_selector("#training[data-state=running]")
    assert process.num_threads() == before + 1
    page.close()
    end = time.monotonic() + 60
    while process.num_threads() > before:
        assert time.monotonic() < end, "the training thread outlived its page"
        time.sleep(0.5)
