"""The figure of loads reached, from tables as they are stored."""

from dendrocap import plot
from dendrocap.figures.theory import SOLVER_LOOKS
from dendrocap.learning.search import SOLVERS

THEORY = [
    {"theta_d": "0.1", "alpha_rs": "1.57", "alpha_full": "1.35", "alpha_at": "0.76"},
    {"theta_d": "1", "alpha_rs": "9.46", "alpha_full": "2.5", "alpha_at": "0.98"},
]


def test_one_line_per_solver(tmp_path):
    reached = [
        {"solver": "surrogate", "theta_d": 1.0, "alpha": 2.1},
        {"solver": "surrogate", "theta_d": 0.1, "alpha": 1.3},
        {"solver": "sgd", "theta_d": 1.0, "alpha": 0.0},
    ]
    figure = plot.solvers(reached, THEORY)
    lines = {line.get_label(): line for line in figure.axes[0].lines}
    assert lines["broken symmetry full"].get_xydata().tolist() == [[0.1, 1.35], [1.0, 2.5]]
    assert lines["annealed surrogate"].get_xydata().tolist() == [[0.1, 1.3], [1.0, 2.1]]
    assert lines["plain SGD"].get_xydata().tolist() == [[1.0, 0.0]]
    assert len(lines) == 5
    plot.save(figure, tmp_path / "solvers.png")
    assert (tmp_path / "solvers.png").stat().st_size > 0


def test_the_best_estimate_is_a_band():
    best = [{"theta_d": "0.1", "best": "1.9", "error": "0.1"}, {"theta_d": "1", "best": "2.6", "error": "0.2"}]
    (band,) = plot.solvers([], THEORY, best).axes[0].collections
    corners = {(round(x, 9), round(y, 9)) for x, y in band.get_paths()[0].vertices}
    assert corners == {(0.1, 1.8), (0.1, 2.0), (1.0, 2.4), (1.0, 2.8)}
    assert band.get_label() == "best estimate, this neuron"


def test_every_solver_has_a_look_of_its_own():
    assert set(SOLVER_LOOKS) == set(SOLVERS)
    assert len({marker for _, _, marker in SOLVER_LOOKS.values()}) == len(SOLVERS)


def test_one_histogram_per_solver():
    rows = [
        {"solver": solver, "left": str(left), "right": str(left + 1.0), "density": str(density)}
        for solver, densities in (("sgd", (0.75, 0.25)), ("surrogate", (0.5, 0.5)))
        for left, density in zip((0.0, 1.0), densities, strict=True)
    ]
    figure = plot.solver_weights(rows)
    first, second, *empty = figure.axes
    assert [axes.get_title() for axes in (first, second)] == ["plain SGD", "annealed surrogate"]
    (stairs,) = first.patches
    assert stairs.get_data().values.tolist() == [0.75, 0.25]
    assert stairs.get_data().edges.tolist() == [0.0, 1.0, 2.0]
    assert not any(axes.axison for axes in empty)
