"""The tests of what a change touches: ``python -m tests.quick [COMMIT]`` prints files for pytest.

A changed module brings its examples, the test files of its package that use it, and those elsewhere that name it; a
module of compiled code also brings those of the modules that call it. A changed test file brings itself, a page of the
documentation the tests of pages. The layers are always tested.
"""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
ALWAYS = ("tests/test_layers.py",)


def changed(since: str) -> set[str]:
    """Files that differ from a commit, new ones included."""
    commands = (["git", "diff", "--name-only", since], ["git", "ls-files", "--others", "--exclude-standard"])
    return {
        line
        for command in commands
        for line in subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    }


def _file(module: str) -> Path | None:
    base = SOURCE.joinpath(*module.split("."))
    return next((one for one in (base.with_suffix(".py"), base / "__init__.py") if one.exists()), None)


@cache
def _homes(package: str) -> dict[str, str]:
    """Names that a package hands on, with the modules that define them."""
    path = _file(package)
    if path is None or path.name != "__init__.py":
        return {}
    stub = path.with_suffix(".pyi")
    tree = ast.parse((stub if stub.exists() else path).read_text(encoding="utf-8"))
    found = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    return {alias.asname or alias.name: str(node.module) for node in found for alias in node.names}


def _defining(module: str, name: str) -> str:
    """The module in which `name`, imported from `module`, is written."""
    if _file(f"{module}.{name}"):
        return f"{module}.{name}"
    home = _homes(module).get(name)
    return module if home in (None, module) else _defining(home, name)


@cache
def uses(path: Path) -> set[str]:
    """The modules of dendrocap that a file names, directly or by way of a package."""
    text = path.read_text(encoding="utf-8")
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("dendrocap"):
            found |= {_defining(str(node.module), alias.name) for alias in node.names}
    return found | {_defining("dendrocap", name) for name in re.findall(r"\bdc\.(\w+)", text)}


def _module(path: str) -> str:
    return ".".join(Path(path).relative_to("src").with_suffix("").parts).removesuffix(".__init__")


def _concerns(test: Path, modules: set[str]) -> bool:
    """Whether a test file is about one of the modules.

    In the folder of the module's package it is, if it uses the module in any way, or the package as a whole, as tests
    of commands do; elsewhere if it names the module itself.
    """
    folder, text = test.relative_to(ROOT / "tests").parts[0], test.read_text(encoding="utf-8")
    own = {one for one in modules if one.split(".")[1] == folder}
    return bool(uses(test) & (own | {f"dendrocap.{folder}"} if own else own)) or any(
        re.search(rf"\b{re.escape(one)}\b", text) for one in modules
    )


def files_to_test(paths: set[str]) -> list[str]:
    """What pytest is to run after a change of these files."""
    sources = {path for path in paths if path.startswith("src/") and path.endswith(".py") and (ROOT / path).exists()}
    modules = {_module(path) for path in sources}
    compiled = {one for one in modules if one.rpartition(".")[2].startswith("_")}
    modules |= {_module(str(one.relative_to(ROOT))) for one in SOURCE.rglob("*.py") if uses(one) & compiled}
    tests = [one for one in (ROOT / "tests").rglob("test_*.py") if _concerns(one, modules)]
    chosen = {str(one.relative_to(ROOT)) for one in tests} | {one for one in paths if "/test_" in one}
    if any(path.startswith("docs/") or path.endswith(".md") for path in paths):
        chosen |= {"tests/documentation"}
    return sorted({*ALWAYS, *(one for one in chosen if (ROOT / one).exists())}) + sorted(sources)


if __name__ == "__main__":
    print(*files_to_test(changed(*(sys.argv[1:] or ["HEAD"]))))
