"""The layer diagram: each layer may import what stands to its right, never the reverse."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import dendrocap

PACKAGE = Path(dendrocap.__file__).parent

MODEL = {"errors", "validation", "model"}
SCIENCE = MODEL | {"theory", "learning", "datasets", "fitting", "experiments"}
# What each layer may import beside itself. A new top-level module must be given its place here.
MAY_IMPORT = {
    "errors": set(),
    "validation": {"errors"},
    "display": set(),
    "files": {"errors"},
    "numerics": {"errors", "validation"},
    "model": {"errors", "validation"},
    "encoding": MODEL,
    "theory": MODEL,
    "learning": MODEL,
    "datasets": MODEL,
    # Fits invert the theory and know nothing of data sets or sweeps; experiments bring both together.
    "fitting": MODEL | {"theory"},
    "experiments": SCIENCE,
    # It draws its own branches; figures take its tables and know nothing of it.
    "estimator": MODEL | {"encoding", "learning", "figures"},
    "figures": SCIENCE,
    # The public names of figures.
    "plot": {"figures"},
    "reproduction": SCIENCE | {"figures"},
    "explorer": SCIENCE | {"figures", "plot"},
    "cli": SCIENCE | {"estimator", "figures", "plot", "reproduction", "explorer"},
    "__main__": {"cli"},
}
# Leaves that every layer but themselves may import.
FOR_ALL = {"display", "files", "numerics"}
ONLY_IN = {
    "numba": ("_compiled.py", "_kernels.py", "learning/_simd.py"),
    "dask": ("experiments/dask_executor.py",),
    "distributed": ("experiments/dask_executor.py", "experiments/dask_dealing.py", "experiments/dask_worker.py"),
    "matplotlib": ("figures/", "reproduction/"),
    "typer": ("cli/",),
    "panel": ("explorer/",),
    "bokeh": ("explorer/",),
    "tornado": ("explorer/",),
}

MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the layer"
            yield node.module


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_follow_the_layers(path):
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
        for node in run_time_imports(ast.parse(path.read_text(encoding="utf-8"))):
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


def test_an_import_inside_a_function_counts_and_one_for_type_checkers_does_not():
    source = "if TYPE_CHECKING:\n    import a\ndef f():\n    import b\n"
    assert [node.names[0].name for node in run_time_imports(ast.parse(source))] == ["b"]
