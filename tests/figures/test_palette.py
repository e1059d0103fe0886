"""Colours can be told apart with any colour vision, and on white paper.

Colour vision without one kind of cone is simulated with the matrices of Machado, Oliveira and Fernandes (2009) of
severity 1, on linear RGB. Distances are Euclidean in CIELAB, where about 2.3 is just noticeable side by side; two
lines of a figure lie apart, so that we ask for 15.
"""

from itertools import combinations

import numpy as np
import pytest

from dendrocap.explorer.plots import DARK
from dendrocap.figures import measured
from dendrocap.figures.style import LIGHT_MARKS, PALETTE
from studies.plots import SOLVER_LOOKS

APART = 15.0
VISION = {
    "normal": np.eye(3),
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
}
COLOURS = {
    "non-linearities": PALETTE,
    "solvers": {name: colour for name, (_, colour, _) in SOLVER_LOOKS.items()},
    "lights": {name: colour for name, (_, colour) in LIGHT_MARKS.items()},
    "parts of a tree": measured.COLOURS,
    "populations": dict(enumerate(measured.POPULATION_COLOURS)),
    "explorer, dark": {name: DARK.curves[name] for name in PALETTE if name != "custom"},  # ReLU has its blue there
}
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
WHITE = TO_XYZ.sum(axis=1)


def linear_rgb(colour):
    """From #rrggbb to light intensities."""
    shares = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    """CIELAB coordinates, white D65."""
    ratio = TO_XYZ @ np.clip(rgb, 0.0, 1.0) / WHITE
    f = np.where(ratio > (6 / 29) ** 3, np.cbrt(ratio), ratio * (29 / 6) ** 2 / 3 + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def distance(one, other, vision):
    see = np.asarray(VISION[vision])
    return float(np.linalg.norm(lab(see @ linear_rgb(one)) - lab(see @ linear_rgb(other))))


def test_the_simulation_knows_what_is_known():
    """White is (100, 0, 0), the matrices leave grey alone, and a red and a green meet without green cones."""
    np.testing.assert_allclose(lab(np.ones(3)), [100, 0, 0], atol=1e-9)
    for vision in VISION:
        np.testing.assert_allclose(np.asarray(VISION[vision]).sum(axis=1), 1.0, atol=1e-5)
    assert distance("#CC79A7", "#44AA99", "normal") > 60  # a pair that this test has sorted out
    assert distance("#CC79A7", "#44AA99", "deuteranopia") < 5


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("group", COLOURS)
def test_colours_of_one_figure_can_be_told_apart(group, vision):
    near = {
        (one, other): distance(COLOURS[group][one], COLOURS[group][other], vision)
        for one, other in combinations(COLOURS[group], 2)
        if distance(COLOURS[group][one], COLOURS[group][other], vision) < APART
    }
    assert not near


@pytest.mark.parametrize("name", PALETTE)
def test_colours_stand_out_on_white(name):
    """Contrast as in WCAG; 1.9 is what the lightest of Okabe and Ito's that we use, orange, has with a margin."""
    luminance = float(TO_XYZ[1] @ linear_rgb(PALETTE[name]))
    assert 1.05 / (luminance + 0.05) > 1.9
