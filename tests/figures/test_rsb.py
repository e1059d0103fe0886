"""The figure on replica symmetry breaking, from a table as it is stored."""

from dendrocap import plot

ROWS = [
    {"nonlinearity": name, "theta_d": theta, "alpha_rs": rs, "alpha_1": "1.2", "alpha_full": "1.1", "alpha_at": at}
    for name, theta, rs, at in (
        ("relu", "0.1", "1.3", "inf"),
        ("relu", "1", "1.6", "0.7"),
        ("polsky", "0.1", "1.5", "0.8"),
        ("polsky", "1", "9.4", "0.9"),
    )
]


def test_one_panel_per_non_linearity_and_only_finite_loads(tmp_path):
    learned = [{"nonlinearity": "polsky", "theta_d": 0.5, "alpha": 1.4}]
    figure = plot.breaking(ROWS, learned)
    relu, polsky = figure.axes
    assert relu.get_title() == "ReLU"
    lines = {line.get_label(): line.get_xydata().tolist() for line in relu.lines}
    assert lines["replica symmetric"] == [[0.1, 1.3], [1.0, 1.6]]
    assert lines["replica symmetry becomes unstable"] == [[1.0, 0.7]]
    assert len(relu.lines) == 4
    assert [line.get_label() for line in polsky.lines][-1] == "reached by learning"
    plot.save(figure, tmp_path / "rsb.png")
    assert (tmp_path / "rsb.png").stat().st_size > 0
