"""The page in a real browser; every test also fails on an error in the console or a request to another machine."""

import contextlib
import io
import re
import time

import psutil
import pytest

import dendrocap as dc
from dendrocap.explorer.parameters import SLIDERS, Parameters, preset, to_query
from dendrocap.explorer.views import difference, key_numbers, view
from tests.explorer.serving import explorer

pytestmark = pytest.mark.browser

# Branches with an unbounded g are not split: a best estimate within a second or two.
QUICK = {"nonlinearity": "relu", "n_inputs": 200, "n_branches": 5}


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


def wait_for_best(page):
    page.wait_for_function("document.body.dataset.accuracy === 'best'", timeout=60_000)


def shown(**settings):
    return key_numbers(view(Parameters(**settings)))


def type_in(page, name, value):
    page.fill(f"#{name}", str(value))
    page.press(f"#{name}", "Enter")


def sources(page, column, length=None):
    """Columns of the browser's own copies of the figures."""
    columns = page.evaluate(
        """(column) => [...Bokeh.documents[0]._all_models.values()].filter((m) => m.type === 'ColumnDataSource')
            .map((s) => s.data[column]).filter((c) => c && c.length).map((c) => [...c])""",
        column,
    )
    return [one for one in columns if length is None or len(one) == length]


def test_the_quick_look_comes_first_and_the_best_estimate_at_rest(load):
    page = load(to_query(Parameters(**QUICK)))
    parameters = Parameters(**QUICK)
    best = dc.capacity(parameters.cell, parameters.task)
    wait_for_best(page)
    wait_for(page, "capacity", best.texts()["capacity"])
    assert page.inner_text("#paper_capacity") == best.texts()["paper_capacity"]
    assert page.inner_text("#silent") == best.texts()["silent"]
    assert [best.alpha_c] in sources(page, "alpha_c", 1)
    assert [best.alpha_c + best.error] in sources(page, "high", 1)
    type_in(page, "theta_d-number", 0.05)
    page.wait_for_function("document.getElementById('capacity').textContent.startsWith('about')")
    wait_for_best(page)
    after = dc.capacity(parameters.changed({"theta_d": 0.05}).cell, parameters.task)
    wait_for(page, "capacity", after.texts()["capacity"])
    page.wait_for_function("location.search.includes('theta_d=0.05&')")
    assert page.inner_text("#spoken") == after.in_words  # what a screen reader hears


def test_the_ladder_and_the_lights(load):
    page = load(to_query(Parameters(**QUICK)))
    wait_for_best(page)
    parameters = Parameters(**QUICK)
    best = dc.capacity(parameters.cell, parameters.task)
    names = [text.split("\n")[0] for text in page.locator("#ladder li").all_inner_texts()]
    assert names[0] == "replica symmetric (paper)"
    assert names[-1] == f"{list(best.estimates)[-1]}, the best"
    assert len(names) == len(best.estimates)
    lights = page.evaluate("[...document.querySelectorAll('#lights li')].map((one) => one.className)")
    assert lights == [flag.light for flag in best.validity.values()]
    strained = [f"{name}: {flag.words}" for name, flag in best.validity.items() if flag.light != "good"]
    assert page.locator("#trust li").all_inner_texts() == strained
    page = load(to_query(Parameters(n_inputs=10_000, n_branches=50)))
    type_in(page, "n_branches-number", 9_999)
    page.wait_for_selector("#lights li.bad >> text=branch size")
    page.wait_for_selector("#trust >> text=1 synapses per branch")


def test_a_slider_moved_by_keys_and_by_mouse(load):
    page = load()
    wait_for(page, "paper_capacity", "4.95")
    page.focus("#theta_d-range")
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    value = float(page.input_value("#theta_d-number"))
    assert 0.5 < value < 0.6
    wait_for(page, "paper_capacity", shown(theta_d=value)["paper_capacity"])
    box = page.locator("#gamma-range").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    for step in range(1, 31):  # faster than the server solves: nothing may queue up or get lost
        page.mouse.move(box["x"] + box["width"] * (0.5 + step / 100), box["y"] + box["height"] / 2)
    page.mouse.up()
    gamma = float(page.input_value("#gamma-number"))
    assert gamma > 30
    wait_for(page, "paper_capacity", shown(theta_d=value, gamma=gamma)["paper_capacity"])


def test_a_threshold_typed_in_millivolts(load):
    page = load(to_query(Parameters(**QUICK)))
    units = Parameters(**QUICK).units
    wait_for(page, "theta_d_mv", f"{units.theta_d_mv(0.5):.3g} mV")
    type_in(page, "theta_d-mv", 10)
    wait_for(page, "theta_d_mv", "10 mV")
    assert float(page.input_value("#theta_d-number")) == pytest.approx(units.theta_d(10.0), rel=1e-4)
    assert "millivolts at the soma" in page.get_attribute("#theta_d-range", "aria-valuetext")
    type_in(page, "theta_s-mv", 0.4 * units.mv_per_theta_s)
    page.wait_for_function("Math.abs(Number(document.getElementById('theta_s-number').value) - 0.4) < 1e-4")


def test_an_answer_does_not_write_into_a_field_that_is_being_typed_in(load):
    page = load(to_query(Parameters(**QUICK)))
    page.fill("#theta_d-number", "0.7")  # not finished: no Enter yet
    wait_for_best(page)
    assert page.input_value("#theta_d-number") == "0.7"
    page.press("#theta_d-number", "Enter")
    wait_for(page, "paper_capacity", shown(**QUICK, theta_d=0.7)["paper_capacity"])


def test_the_somatic_threshold_ends_where_g_does(load):
    page = load()
    page.wait_for_function("Number(document.getElementById('theta_s-range').max) === 1")
    page.select_option("#nonlinearity", "relu")
    page.wait_for_function("Number(document.getElementById('theta_s-range').max) === 2")


def test_two_neurons_side_by_side(load):
    page = load(to_query(Parameters(**QUICK)))
    wait_for_best(page)
    assert page.is_hidden("#compared")
    page.click("#neuron-b")
    type_in(page, "theta_d-number", 1)
    page.wait_for_function("location.search.includes('b.theta_d=1')")
    wait_for_best(page)
    one, other = (dc.capacity(Parameters(**QUICK, theta_d=x).cell) for x in (0.5, 1.0))
    rows = [row.split("\t") for row in page.locator("#compared tbody tr").all_inner_texts()]
    assert rows[0][1] == one.texts()["capacity"]
    assert rows[1][1] == other.texts()["capacity"]
    assert rows[2][1] == difference(one, other)["capacity"]
    shared = load(page.url.split("?")[1])
    wait_for_best(shared)
    assert [row.split("\t") for row in shared.locator("#compared tbody tr").all_inner_texts()] == rows
    page.click("#neuron-a")
    page.wait_for_function("document.getElementById('theta_d-number').value === '0.5'")
    page.click("#alone")
    page.wait_for_selector("#compared", state="hidden")


def test_basal_and_apical_branches(load):
    page = load(to_query(Parameters(**QUICK)))
    page.click("#kind-apical")
    page.wait_for_function("document.getElementById('kind-apical').textContent === 'Apical'")
    assert page.is_visible("#fraction_2-range")
    type_in(page, "theta_d_2-number", 0.1)
    expected = shown(**QUICK, populations="2", theta_d_2=0.1)
    wait_for(page, "paper_capacity", expected["paper_capacity"])
    page.click("#kind-basal")
    assert page.is_visible("#theta_d-range")
    page.click("#kind-apical")
    page.click("#no-apical")
    wait_for(page, "paper_capacity", shown(**QUICK)["paper_capacity"])
    assert page.inner_text("#kind-basal") == "All branches"


def test_inhibition_and_noise(load):
    page = load()
    expected = shown(flips=0.05)
    type_in(page, "flips-number", 0.05)
    wait_for(page, "typical_error_rs", expected["typical_error_rs"])
    assert page.text_content("#margin_error_rs") == expected["margin_error_rs"]
    type_in(page, "inhibitory_share-number", 0.2)
    page.wait_for_function("document.getElementById('said').textContent.includes('infinitely many')")
    assert page.text_content("#patterns") == "–"
    assert page.text_content("#typical_error_rs") == "–"
    assert page.is_disabled("#count")
    wait_for_best(page)
    best = dc.capacity(Parameters(inhibitory_share=0.2).neuron)
    assert page.text_content("#capacity") == best.texts()["capacity"]
    assert page.text_content("#paper_capacity") == best.texts()["paper_capacity"]
    wide, own = page.eval_on_selector("#ladder .best .value", "(e) => [e.scrollWidth, e.clientWidth]")
    assert wide <= own  # nothing is cut off


def test_how_many_branches_are_best(load):
    page = load(to_query(Parameters(nonlinearity="relu", n_inputs=120, n_branches=5)))
    page.click("#count")
    page.wait_for_selector("#branches >> text=Of 5, 11 branches", timeout=60_000)
    assert "store most" in page.inner_text("#branches")
    assert page.is_visible("#capacity-n_branches")
    assert [5, 11] in sources(page, "x", 2)


def test_presets(load):
    page = load()
    page.click("text=Song 2005 fit")
    song = key_numbers(view(Parameters().changed(preset("song2005"))))
    wait_for(page, "paper_capacity", song["paper_capacity"])
    assert page.inner_text("#paper_silent") == "76 %"
    assert page.inner_text("#theta_d_mv") == song["theta_d_mv"]
    page.click("[data-preset=linear]")
    wait_for(page, "capacity", "1")
    wait_for_best(page)
    assert page.inner_text("#remark").startswith("the solutions form a convex set")


def test_uploads_good_and_bad(load, tmp_path):
    good, bad = tmp_path / "good.csv", tmp_path / "bad.csv"
    good.write_text("x,y\n0,0\n0.25,0.05\n0.5,0.2\n1,1\n")
    bad.write_text("x,y\n0,0\n2,1\n1,<script>alert(1)</script>\n")
    page = load()
    page.click("text=Upload a measured curve")
    page.set_input_files("#file", good)
    curve = ((0.0, 0.0), (0.25, 0.05), (0.5, 0.2), (1.0, 1.0))
    expected = shown(nonlinearity="tabulated", curve=curve)["paper_capacity"]
    wait_for(page, "paper_capacity", expected)
    assert page.input_value("#nonlinearity") == "tabulated"
    page.set_input_files("#file", bad)
    page.wait_for_selector("#problem >> text=is not a number")
    assert page.inner_text("#paper_capacity") == expected
    (tmp_path / "large.csv").write_text("1,1\n" * 100_000)
    page.set_input_files("#file", tmp_path / "large.csv")
    page.wait_for_selector("#problem >> text=at most 100000 are allowed")
    (tmp_path / "picture.csv").write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00")
    page.set_input_files("#file", tmp_path / "picture.csv")
    page.wait_for_selector("#problem >> text=is not text")
    page.wait_for_function("location.search.includes('curve=')")
    again = load(page.url.split("?")[1])
    wait_for(again, "paper_capacity", expected)


def test_a_measured_curve_with_errors_is_drawn_and_fitted(load, tmp_path):
    x = [1.0 * number for number in range(17)]
    y = [12.0 * float(dc.Polsky(0.33, 15.0)(one / 12.0)) for one in x]
    rows = "\n".join(f"{a},{b:.3f},0.3" for a, b in zip(x, y, strict=True))
    (tmp_path / "curve.csv").write_text(f"expected (mV),recorded (mV),SEM (mV)\n{rows}\n")
    page = load(to_query(Parameters(**QUICK)))
    page.click("text=Upload a measured curve")
    page.set_input_files("#file", tmp_path / "curve.csv")
    page.wait_for_selector("#said >> text=17 points read from curve.csv in mV, with standard errors")
    assert page.input_value("#nonlinearity") == "smooth"
    assert len(sources(page, "low", 17)) == 1  # the error bars
    page.select_option("#nonlinearity", "fitted")
    page.wait_for_function("location.search.includes('nonlinearity=fitted')")
    wait_for_best(page)
    assert "±" in page.inner_text("#capacity")


def test_from_the_page_to_the_capacity_of_ones_own_cell_in_six_actions(load, tmp_path):
    """Open, unfold, say how many pairs were tested, choose the file, wait, read."""
    parameters = Parameters(**QUICK)
    weights = dc.critical_capacity(parameters.neuron, parameters.task).weights
    amplitudes = parameters.units.weight_mv(weights.ppf([0.85, 0.87, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99]))
    (tmp_path / "epsp.csv").write_text("epsp (mV)\n" + "\n".join(f"{one:.5g}" for one in amplitudes))
    actions = 0
    page = load(to_query(parameters))
    actions += 1
    page.click("text=Upload EPSP amplitudes")
    actions += 1
    page.fill("#n-tested", "20")
    actions += 1
    page.set_input_files("#epsp-file", tmp_path / "epsp.csv")
    actions += 1
    page.wait_for_selector("#said >> text=8 EPSPs fitted")
    wait_for_best(page)
    actions += 1
    assert re.fullmatch(r"[\d.]+ ± [\d.]+", page.inner_text("#capacity"))
    actions += 1
    assert actions <= 6


def test_a_shared_link_shows_the_same_page(load):
    settings = {"nonlinearity": "saturating_relu", "theta_d": 0.123456789, "f_in": 0.3, "axis": "theta_s", "load": 1.25}
    page = load(to_query(Parameters(**settings)))
    wait_for(page, "paper_capacity", shown(**settings)["paper_capacity"])
    assert page.input_value("#nonlinearity") == "saturating_relu"
    assert page.input_value("#axis") == "theta_s"
    assert page.input_value("#load-number") == "1.25"
    assert page.is_visible("#capacity-theta_s")
    assert page.is_hidden("#capacity-theta_d")
    page.reload()
    wait_for(page, "paper_capacity", shown(**settings)["paper_capacity"])


def test_a_bad_link_gives_a_message_and_the_rest_of_the_page(load):
    page = load("theta_d=banana&f_in=0.3&evil=%3Cimg%20src=x%3E")
    page.wait_for_selector("#problem >> text=theta_d = 'banana' is not allowed")
    wait_for(page, "paper_capacity", shown(f_in=0.3)["paper_capacity"])
    assert page.locator("#problem img").count() == 0


def test_a_bad_number_and_a_neuron_without_solution_give_messages(load):
    page = load()
    wait_for(page, "paper_capacity", "4.95")
    type_in(page, "theta_d-number", -3)
    page.wait_for_selector("#problem >> text=theta_d = -3 is not allowed")
    wait_for(page, "paper_capacity", "4.95")
    type_in(page, "theta_s-number", 1.5)
    page.wait_for_selector("#no-solution >> text=strictly between 0 and 1")
    assert page.inner_text("#capacity") == "–"


def test_train_pause_and_stop(load):
    page = load(to_query(Parameters(load=3.0, train_inputs=300, train_branches=15, pace=100)))
    page.click("#tab-train")
    page.click("#start")
    page.wait_for_function("Number(document.getElementById('run-epoch').textContent.replace(',', '')) > 10")
    heights = sources(page, "top", 40)[0]
    assert 0.9 < sum(heights) * 5 / 40 < 1.001  # a density, up to five times the mean
    assert page.inner_text("#run-paper").startswith("the paper's replica-symmetric estimate")
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
    page = load(to_query(Parameters(**QUICK, theta_d=0.21)))
    wait_for_best(page)
    page.click("#figure-ladder details summary")
    page.wait_for_function("document.querySelector('#figure-ladder code').textContent.includes('0.21')")
    names, printed = run(page.inner_text("#figure-ladder code"))
    assert f"{page.inner_text('#capacity')} patterns per synapse" in printed
    assert [names["best"].alpha_c] in sources(page, "alpha_c", 1)


def run(script):
    names, printed = {}, io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(script, "script", "exec"), names)
    return names, printed.getvalue()


@pytest.mark.parametrize(("name", "begins"), [("PNG", b"\x89PNG"), ("SVG", b"<?xml"), ("CSV", b"# dendrocap")])
def test_exports_are_downloaded(load, name, begins):
    page = load(to_query(Parameters(**QUICK)))
    page.wait_for_function("document.querySelector('[data-export]').href.includes('theta_d')")
    with page.expect_download(timeout=60_000) as download:
        page.click(f"#figure-ladder .button >> text={name}")
    assert download.value.suggested_filename == f"neuron.{name.lower()}"
    assert download.value.path().read_bytes().startswith(begins)


@pytest.mark.parametrize("size", [(1400, 900), (1024, 768), (420, 860)], ids=["desk", "small", "phone"])
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


def test_figures_fill_a_large_window(load):
    page = load(width=1400, height=900)
    wait_for(page, "paper_capacity", "4.95")
    box = page.locator("#figure-weights").bounding_box()
    assert box["y"] + box["height"] > 0.9 * 900
    assert page.locator("#figure-ladder").bounding_box()["x"] + 300 < 1400
    heights = page.evaluate(
        """[...Bokeh.documents[0]._all_models.values()].filter((m) => m.type === 'Figure').map((m) => m.inner_height)"""
    )
    assert sorted(heights)[-3] > 200  # the three figures that are seen


def test_on_a_phone_the_figure_stays_above_the_slider_that_moves_it(load):
    page = load(width=420, height=860)
    wait_for(page, "paper_capacity", "4.95")
    for name in ("theta_d", "kappa"):  # the first and the last
        page.locator(f"#{name}-range").scroll_into_view_if_needed()
        figure, slider = (page.locator(one).bounding_box() for one in ("#figures .plots", f"#{name}-range"))
        assert figure["y"] >= -1
        assert figure["y"] + figure["height"] <= slider["y"] + 1
        assert page.locator("#capacity").bounding_box()["y"] < 860
    page.click(".figure-tabs >> text=capacity")
    page.wait_for_function(
        "Math.abs(document.getElementById('figure-capacity').getBoundingClientRect().left) < 30", timeout=5000
    )


def test_a_dark_browser_gets_a_dark_page(load):
    assert load(color_scheme="dark").evaluate("document.documentElement.dataset.theme") == "dark"


def test_every_slider_and_number_is_explained(load):
    page = load()
    assert page.locator(".help:visible").count() == 0
    page.click("#explain")
    for name in ("theta_d", "theta_s", "n_branches", "kappa"):
        assert page.is_visible(f"#{name}-help")
        assert page.inner_text(f"#{name}-help") == f"{SLIDERS[name].help}."
        assert page.get_attribute(f"#{name}-range", "aria-describedby") == f"{name}-help"
    assert page.locator(".numbers dd.help:visible").count() == page.locator(".numbers dt:visible").count() == 8
    assert page.locator(".beside dd.help:visible").count() == page.locator(".beside dt:visible").count() == 2
    assert "Capacity against the dendritic threshold" in page.get_attribute("#capacity-theta_d", "aria-label")


def test_every_control_has_a_name_and_is_reached_by_the_tab_key(load):
    page = load()
    nameless = page.evaluate(
        """[...document.querySelectorAll('button, input, select, a')].filter((e) => !(e.textContent.trim()
            || e.getAttribute('aria-label') || (e.labels && e.labels.length))).map((e) => e.id)"""
    )
    assert nameless == []
    reached = set()
    for _ in range(100):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id"))
    sliders = [name for name in SLIDERS if page.locator(f"#{name}-range").is_visible()]
    assert len(sliders) == 13
    for name in sliders:
        assert {f"{name}-range", f"{name}-number"} <= reached
    wanted = {"nonlinearity", "axis", "tab-explore", "dark", "copy-link", "neuron-b", "count", "theta_d-mv", "explain"}
    assert wanted <= reached
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
        type_in(page, "theta_d-number", 0.1 + 0.01 * number)
    for number, page in enumerate(pages):
        wait_for(page, "paper_capacity", shown(theta_d=float(str(0.1 + 0.01 * number)))["paper_capacity"])


def test_a_run_ends_with_its_page(load, server):
    process = psutil.Process(server[0].pid)
    page = load(to_query(Parameters(load=5.0, train_inputs=300, train_branches=15, pace=10, **QUICK)) + "#train")
    before = {thread.id for thread in process.threads()}
    page.click("#start")
    page.wait_for_selector("#training[data-state=running]")
    end = time.monotonic() + 60
    while not {thread.id for thread in process.threads()} - before:
        assert time.monotonic() < end, "no thread was started"
    started = {thread.id for thread in process.threads()} - before
    page.close()
    while started & {thread.id for thread in process.threads()}:
        assert time.monotonic() < end, "the training thread outlived its page"
        time.sleep(0.5)
