"""The layer diagram: each layer may import what stands to its right, never the reverse."""

import ast
import re
from functools import cache
from graphlib import TopologicalSorter
from itertools import pairwise
from pathlib import Path

import pytest

import dendrocap

PACKAGE = Path(dendrocap.__file__).parent

MODEL = {"errors", "validation", "model"}
THEORY = MODEL | {"theory"}
ANSWERS = THEORY | {"finite_size", "answers"}
SCIENCE = ANSWERS | {"learning", "datasets", "fitting", "solving", "sweeps"}
# What each layer may import beside itself. A new top-level module must be given its place here.
MAY_IMPORT = {
    "errors": set(),
    "validation": {"errors"},
    "display": set(),
    "files": {"errors"},
    "loading": set(),
    "numerics": set(),
    "model": {"errors", "validation"},
    "theory": MODEL,
    "learning": MODEL,
    "datasets": MODEL,
    "finite_size": THEORY,
    "answers": ANSWERS,
    "fitting": ANSWERS | {"datasets"},
    "solving": ANSWERS | {"learning"},
    "sweeps": ANSWERS | {"datasets", "learning", "solving"},
    # It draws its own branches; figures take its tables and know nothing of it.
    "classifier": MODEL | {"learning", "figures"},
    "figures": SCIENCE,
    # The public names of figures.
    "plot": {"figures"},
    "reproduction": SCIENCE | {"figures"},
    "explorer": SCIENCE | {"figures", "plot"},
    "cli": SCIENCE | {"figures", "plot", "reproduction", "explorer"},
    "__main__": {"cli"},
}
# Leaves that every layer but themselves may import.
FOR_ALL = {"display", "files", "loading", "numerics"}
ONLY_IN = {
    "numba": ("/_",),  # modules whose name begins with an underscore
    "dask": ("sweeps/dask.py",),
    "distributed": ("sweeps/dask.py",),
    "matplotlib": ("figures/", "reproduction/"),
    "typer": ("cli/",),
    "panel": ("explorer/",),
    "bokeh": ("explorer/",),
    "tornado": ("explorer/",),
}

PICTURE = (
    (PACKAGE.parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## How the code is laid out")[2]
)

MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


@cache
def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(path):
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the layer"
            yield node.module


@pytest.mark.parametrize("package", sorted({path.relative_to(PACKAGE).parts[0] for path in MODULES}))
def test_imports_follow_the_layers(package):
    for path in MODULES:
        if path.relative_to(PACKAGE).parts[0] == package:
            check_imports(path)


def check_imports(path):
    inside = path.relative_to(PACKAGE)
    layer = inside.parts[0].removesuffix(".py")
    assert layer in MAY_IMPORT, f"{layer} has no place in the layer diagram"
    for name in imported(path):
        root, *rest = name.split(".")
        if root == "dendrocap":
            target = rest[0] if rest else "__init__"
            allowed = MAY_IMPORT[layer] | {layer} | ({"__init__"} if layer in ("cli", "explorer") else set())
            allowed |= set() if layer in {"errors", "validation", *FOR_ALL} else FOR_ALL
            assert target in allowed, f"{inside} imports {name}"
        elif root in ONLY_IN:
            assert any(place in inside.as_posix() for place in ONLY_IN[root]), f"{inside} imports {name}"


def arrows():
    """The picture in CONTRIBUTING: to which layers the arrows of each lead."""
    graph = {}
    for line in re.findall(r"^    (.*→.*)$", PICTURE, flags=re.M):
        for left, right in pairwise(re.findall(r"\w+", part) for part in line.split("→")):
            for name in left:
                graph.setdefault(name, set()).update(right)
    return graph


def reached(graph, name):
    """All layers that a layer's arrows lead to, on whatever way."""
    found, new = set(), set(graph.get(name, ()))
    while new:
        found |= new
        new = {further for near in new for further in graph.get(near, ())} - found
    return found


def test_the_picture_shows_every_layer_and_the_rules_of_this_file():
    graph = arrows()
    (for_all,) = re.findall(r"^    for all: \{(.*)\}$", PICTURE, flags=re.M)
    assert set(re.findall(r"\w+", for_all)) == FOR_ALL
    layers = {path.name.removesuffix(".py") for path in PACKAGE.iterdir() if path.suffix in (".py", "")}
    layers -= {"__init__", "__pycache__"}
    assert layers == MAY_IMPORT.keys()
    assert graph.keys() | set().union(*graph.values()) | FOR_ALL == layers
    for layer, allowed in MAY_IMPORT.items():
        assert allowed - {layer} <= reached(graph, layer), f"the picture has no way from {layer} to all of {allowed}"
        assert graph.get(layer, set()) <= allowed, f"the picture has arrows from {layer} that are not allowed"
        assert layer not in reached(graph, layer)


def run_time_imports(tree):
    """Import statements at the top and inside functions, those for type checkers left out."""
    if isinstance(tree, ast.Import | ast.ImportFrom):
        yield tree
    elif isinstance(tree, ast.If) and isinstance(tree.test, ast.Name) and tree.test.id == "TYPE_CHECKING":
        return
    for child in ast.iter_child_nodes(tree):
        yield from run_time_imports(child)


def import_graph(package):
    """For each module of a package, which of its other modules it imports."""
    names = {
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): path
        for path in (PACKAGE / package).rglob("*.py")
    }
    graph = {name: set() for name in names}
    for name, path in names.items():
        for node in run_time_imports(parsed(path)):
            if isinstance(node, ast.Import):
                targets = {alias.name for alias in node.names}
            else:
                inside = {f"{node.module}.{alias.name}" for alias in node.names} & names.keys()
                targets = inside or {node.module}
            graph[name] |= targets & names.keys()
    return graph


@pytest.mark.parametrize("package", ["numerics", "theory", "fitting"])
def test_modules_import_one_another_without_a_cycle(package):
    graph = import_graph(package)
    assert len(graph) > 2
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the cycle
