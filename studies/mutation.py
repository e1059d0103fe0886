"""How many wrong programs the tests notice: random lines of `src` are changed, one at a time.

Usage: python -m studies.mutation {compute,again,table} [--work DIR] [--mutants 200] [--seed 0] [--seconds 10]
       [--tests TEST ...]

Everything happens in DIR, a copy of the tree. ``compute`` draws lines at random and, for each, changes one operator,
constant, condition or return value and runs the tests that can see the change, until one fails or SECONDS of CPU time
are spent; it fills mutation.csv and can be stopped and started again. ``again`` takes the tests of today and runs the
mutants that survived once more, with more of them or with TESTS only, and fills the column ``again``. ``table`` prints
the score and the mutants that are alive.

Tests that can see a change: the examples of the changed module, and test files that have its name, import it, or name
what it or its users define. Those tests run first that name the function with the change. Texts, annotations,
decorators and what only type checkers read are not changed.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import json
import os
import random
import re
import resource
import select
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from studies.tables import ROOT, add, markdown, stored, write

TABLE = Path(__file__).with_suffix(".csv")
COLUMNS = ("path", "line", "within", "kind", "original", "mutated", "status", "by", "seconds", "again", "reason")
COMPILED_HERE = "compiled"  # where the mutants of compiled code keep theirs: that of the others stays valid
ALIVE = ("survived", "untested")
# Loaded once; each mutant runs in a fork of this process, which imports the package itself.
LOADED = (
    "matplotlib.pyplot", "numba", "numpy", "pandas", "pytest", "rich.console", "scipy.integrate", "scipy.optimize",
    "scipy.interpolate", "scipy.stats", "sklearn.linear_model", "typer", "xarray", "hypothesis.extra.numpy",
)  # fmt: skip
FEW_FILES, MANY_FILES = 6, 20  # of tests, at first and again
OTHER_COMPARISON: dict[type, tuple[type, ...]] = {
    ast.Lt: (ast.LtE, ast.Gt), ast.LtE: (ast.Lt, ast.GtE), ast.Gt: (ast.GtE, ast.Lt), ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
}  # fmt: skip
OTHER_OPERATION: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change of one place of one file."""

    path: str
    line: int
    within: str
    kind: str
    original: str
    mutated: str
    start: int
    stop: int

    def applied(self, source: str) -> str:
        """The file with the change."""
        return source[: self.start] + self.mutated + source[self.stop :]


def mutants(path: str, source: str) -> list[Mutant]:
    """All changes of a file that we know how to make."""
    lines = source.splitlines(keepends=True)
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line))
    tree = ast.parse(source)
    scopes = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)]

    def place(line: int, column: int) -> int:  # columns of syntax trees count bytes
        return offsets[line - 1] + len(lines[line - 1].encode()[:column].decode())

    found = []
    for node in changeable(tree):
        start, stop = place(node.lineno, node.col_offset), place(node.end_lineno, node.end_col_offset)
        within = ".".join(scope.name for scope in scopes if scope.lineno <= node.lineno <= (scope.end_lineno or 0))
        for kind, text in changes(node):
            found.append(Mutant(path, node.lineno, within, kind, source[start:stop], text, start, stop))
    return found


def changeable(tree: ast.AST) -> Iterator[Any]:
    """Expressions and statements whose value matters at run time."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list", "args", "type_ignores") and not isinstance(
            tree, ast.Call
        ):
            if name == "args" and isinstance(value, ast.arguments):  # defaults matter, annotations do not
                for default in (*value.defaults, *value.kw_defaults):
                    if default is not None:
                        yield default
                        yield from changeable(default)
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, ast.JoinedStr):
                continue
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
                continue
            if isinstance(child, ast.Assign) and ast.unparse(child.targets[0]) in ("__all__", "__version__"):
                continue
            if isinstance(child, ast.expr | ast.Return | ast.AugAssign):
                yield child
            yield from changeable(child)


def changes(node: Any) -> Iterator[tuple[str, str]]:
    """What a piece of a program may become: kind of change and new text."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for operation in OTHER_COMPARISON.get(type(node.ops[0]), ()):
            yield "comparison", f"({ast.unparse(ast.Compare(node.left, [operation()], node.comparators))})"
    elif isinstance(node, ast.BinOp) and type(node.op) in OTHER_OPERATION:
        if not any(
            isinstance(side, ast.JoinedStr | ast.Constant) and _is_text(side) for side in (node.left, node.right)
        ):
            changed = ast.BinOp(node.left, OTHER_OPERATION[type(node.op)](), node.right)
            yield "arithmetic", f"({ast.unparse(changed)})"
    elif isinstance(node, ast.AugAssign) and type(node.op) in OTHER_OPERATION:
        yield "arithmetic", ast.unparse(ast.AugAssign(node.target, OTHER_OPERATION[type(node.op)](), node.value))
    elif isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "boolean", f"({ast.unparse(ast.BoolOp(other, node.values))})"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield "boolean" if isinstance(node.op, ast.Not) else "arithmetic", f"({ast.unparse(node.operand)})"
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield "boolean", str(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield "constant", repr(node.value + 1 if isinstance(node.value, int) or not node.value else 2.0 * node.value)
    elif isinstance(node, ast.IfExp):
        yield "boolean", f"({ast.unparse(ast.IfExp(node.test, node.orelse, node.body))})"
    elif isinstance(node, ast.Return) and node.value is not None and ast.unparse(node.value) != "None":
        yield "return", "return None"


def _is_text(node: Any) -> bool:
    return isinstance(node, ast.JoinedStr) or isinstance(node.value, str)


def drawn(root: Path, number: int, seed: int) -> list[Mutant]:
    """So many lines at random among all that can be changed, and on each one change at random."""
    lines: dict[tuple[str, int], list[Mutant]] = {}
    for file in sorted((root / "src").rglob("*.py")):
        path = file.relative_to(root).as_posix()
        for mutant in mutants(path, file.read_text(encoding="utf-8")):
            lines.setdefault((path, mutant.line), []).append(mutant)
    rng = random.Random(seed)
    return [rng.choice(lines[at]) for at in rng.sample(sorted(lines), number)]


def copied(work: Path) -> None:
    """Make the copy of the tree, unless it is there."""
    if not work.exists():
        shutil.copytree(ROOT, work, ignore=shutil.ignore_patterns(".git", ".venv*", "_build", "reproduced", "build"))


def test_files(work: Path, mutant: Mutant, most: int) -> list[str]:
    """Files of tests that can see a change, the nearest first.

    Near is a file with the name of the module or with words of the changed function in its own name, one that imports
    the module or names what it defines, and, with less weight, one that names what users of the module define.
    """
    path, modules = Path(mutant.path), sources(work, "src")
    module = ".".join(path.with_suffix("").parts[1:]).removesuffix(".__init__")
    words = {word for word in re.split(r"\W|_", f"{path.stem}_{mutant.within}".lower()) if len(word) > 3}
    known, rings = {module}, [{module}]
    for _ in range(2):
        rings.append(
            {name for name, text in modules.items() if name not in known and any(k in text for k in rings[-1])}
        )
        known |= rings[-1]
    scores: Counter[str] = Counter()
    for name, text in sources(work, "tests").items():
        own = set(re.findall(r"\w+", text))
        scores[name] = 6 * len(words & set(name.rpartition(".")[2].split("_"))) + 8 * (module in text)
        scores[name] += sum(
            weight * min(len(own & defined(work, ring)), 3)
            for weight, ring in zip((4, 2, 1), map(frozenset, rings), strict=True)
        )
        scores[name] += 3 * (scores[name] > 0 and name.split(".")[1] == path.parts[2])
    if not scores.total():  # used by other processes only: the tests of the layer
        scores.update(name for name in sources(work, "tests") if name.split(".")[1] == path.parts[2])
    near = [name.replace(".", "/") + ".py" for name, score in scores.most_common(most) if score > 0]
    return [*([mutant.path] if ">>> " in modules[module] else []), *near]


@cache
def defined(work: Path, modules: frozenset[str]) -> set[str]:
    """Functions and classes that some modules define."""
    trees = (ast.parse(sources(work, "src")[name]) for name in modules)
    return {node.name for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}


@cache
def sources(work: Path, folder: str) -> dict[str, str]:
    """Text of every module below a folder, of the tests only those that hold some."""
    files = (work / folder).rglob("*.py" if folder == "src" else "test_*.py")
    named = (
        (".".join(file.relative_to(work).with_suffix("").parts).removeprefix("src."), file) for file in sorted(files)
    )
    return {name: file.read_text(encoding="utf-8") for name, file in named}


class Watcher:
    """A plugin of pytest: tests that name the changed function first, and an end when the time is up."""

    def __init__(self, mutant: Mutant, seconds: float) -> None:
        self.words = [word for word in mutant.within.split(".") if word] or [Path(mutant.path).stem]
        self.seconds, self.failed, self.ran = seconds, "", 0

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Sort tests; within equals the order of the files stays."""
        items.sort(key=self.distance)

    def distance(self, item: Any) -> int:
        """How little a test has to do with the changed function."""
        function = getattr(item, "function", None)
        text = item.name if function is None else inspect.getsource(function)
        return -sum(2 if word == self.words[-1] else 1 for word in self.words if word in text)

    def pytest_collectreport(self, report: Any) -> None:
        """A module that cannot be imported notices the change."""
        if report.failed:
            self.failed = self.failed or f"collection of {report.nodeid}"

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Keep the first failure."""
        self.ran += report.when == "call"
        if report.failed:
            self.failed = self.failed or report.nodeid

    def pytest_runtest_teardown(self, item: Any) -> None:
        """End the run when the time is up."""
        if time.process_time() > self.seconds:
            item.session.shouldstop = "time is up"


def outcome(work: Path, mutant: Mutant, seconds: float, files: Sequence[str]) -> tuple[str, str, float]:
    """What the tests say of a mutant, which of them said it, and how long it took; the file is put back in any case."""
    file = work / mutant.path
    if not files:
        return "untested", "", 0.0
    source, times = file.read_text(encoding="utf-8"), (file.stat().st_atime_ns, file.stat().st_mtime_ns)
    seconds += 45.0 * (mutant.path in compiled_from())  # to compile
    began = time.perf_counter()
    read, write = os.pipe()
    child = 0
    try:
        file.write_text(mutant.applied(source), encoding="utf-8")
        child = os.fork()
        if child == 0:
            os.close(read)
            tested(work, mutant, files, seconds, write)
        os.close(write)
        # Time on the wall is no measure on a busy machine: the child's CPU time is limited, and this only ends a sleep.
        ready, _, _ = select.select([read], [], [], 300.0 + 12.0 * seconds)
        said = os.read(read, 10_000) if ready else b""
    finally:
        if child:  # with all that it started
            with suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
        os.close(read)
        file.write_text(source, encoding="utf-8")
        os.utime(file, ns=times)
        shutil.rmtree(work / COMPILED_HERE, ignore_errors=True)
    status, by = json.loads(said) if said else ("timeout", "")
    if status == "broken":
        raise RuntimeError(f"{mutant.path}, line {mutant.line}: the tests could not be run: {by}")
    return status, by, time.perf_counter() - began


def tested(work: Path, mutant: Mutant, files: Sequence[str], seconds: float, write: int) -> None:
    """The forked process: run the tests, say what came of it, end."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.chdir(work)
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    import pytest
    from numba.core.config import reload_config

    resource.setrlimit(resource.RLIMIT_CPU, (int(2 * seconds + 30 + time.process_time()),) * 2)
    sys.path[:0] = [str(work / "src"), str(work)]
    os.environ["PYTHONPATH"] = f"{work / 'src'}{os.pathsep}{work}"
    if mutant.path in compiled_from():
        os.environ["NUMBA_CACHE_DIR"] = str(work / COMPILED_HERE)
        reload_config()
    sys.dont_write_bytecode = True
    for name in [
        name for name in sys.modules if name.partition(".")[0] in ("studies", "dendrocap", "tests", "benchmarks")
    ]:
        del sys.modules[name]
    watcher = Watcher(mutant, seconds + time.process_time())
    options = ["-q", "-x", "-n", "0", "--tb=no", "-p", "no:cacheprovider", "--hypothesis-seed=0"]
    options += ["-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning"]
    try:
        pytest.main([*options, *files], plugins=[watcher])
        status = "killed" if watcher.failed else "survived" if watcher.ran else "untested"
        os.write(write, json.dumps((status, watcher.failed)).encode())
    except BaseException as error:  # of ours: it must not count as anything
        os.write(write, json.dumps(("broken", repr(error))).encode())
    finally:
        os._exit(0)


@cache
def compiled_from() -> frozenset[str]:
    """Files whose change makes all compiled code on disk invalid."""
    from dendrocap.numerics import _caching

    return frozenset(f"src/{Path(path).relative_to(_caching.PACKAGE.parent).as_posix()}" for path in _caching.sources())


def compute(work: Path, number: int, seed: int, seconds: float) -> None:
    """Draw mutants and run them; those of the table are not run twice."""
    load()
    copied(work)
    done = {(row["path"], row["line"], row["mutated"]) for row in stored(TABLE)}
    for mutant in sorted(
        drawn(work, number, seed), key=lambda mutant: mutant.path in compiled_from()
    ):  # slow ones last
        if (mutant.path, str(mutant.line), one_line(mutant.mutated)) not in done:
            status, by, took = outcome(work, mutant, seconds, test_files(work, mutant, FEW_FILES))
            cells = (mutant.path, mutant.line, mutant.within, mutant.kind, one_line(mutant.original))
            last = (one_line(mutant.mutated), status, by, f"{took:.0f}", "", "")
            add(TABLE, COLUMNS[:6], [dict(zip(COLUMNS, (*cells, *last), strict=True))])


def load() -> None:
    """Import what every mutant needs, once, with one thread each; whoever ends the process gets the file put back."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit("stopped"))
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[name] = "1"
    for name in LOADED:
        import_module(name)


def one_line(text: str) -> str:
    """A piece of a program without its line ends."""
    return " ".join(text.split())


def again(work: Path, seconds: float, tests: Sequence[str]) -> None:
    """Run the survivors once more, with the tests of today, those named or all that are near."""
    load()
    copied(work)
    shutil.copytree(ROOT / "tests", work / "tests", dirs_exist_ok=True)
    rows = stored(TABLE)
    for row in rows:
        if row["status"] in ALIVE and row["again"] in ("", *ALIVE) and not row["reason"]:
            mutant = found_again(work, row)
            row["again"], row["by"], _ = outcome(work, mutant, seconds, tests or test_files(work, mutant, MANY_FILES))
            print(row["path"], row["line"], row["again"], row["by"], flush=True)
            newer = {(one["path"], one["line"], one["mutated"]): one for one in stored(TABLE)}
            newer[row["path"], row["line"], row["mutated"]] = row
            write(TABLE, newer.values())


def found_again(work: Path, row: dict[str, str]) -> Mutant:
    """The mutant of a row, at the nearest line of the same function that can be changed that way."""
    source = (work / row["path"]).read_text(encoding="utf-8")
    wanted = (row["within"], row["original"], row["mutated"])
    same = [
        mutant
        for mutant in mutants(row["path"], source)
        if (mutant.within, one_line(mutant.original), one_line(mutant.mutated)) == wanted
    ]
    if not same:
        raise SystemExit(f"{row['path']} has no {row['original']} in {row['within']} any more: draw again")
    return min(same, key=lambda mutant: abs(mutant.line - int(row["line"])))


def table() -> None:
    """The score, and what is alive."""
    rows = stored(TABLE)
    for when, status in (
        ("first", [row["status"] for row in rows]),
        ("again", [row["again"] or row["status"] for row in rows]),
    ):
        counts = Counter(status)
        dead = counts["killed"] + counts["timeout"]
        print(f"{when}: {dead} of {len(rows)} noticed ({100 * dead / len(rows):.0f} %): {dict(counts)}")
    alive = [row for row in rows if (row["again"] or row["status"]) in ALIVE]
    lines = ((row["path"], row["line"], f"`{row['original']}`", f"`{row['mutated']}`", row["reason"]) for row in alive)
    print("\n".join(markdown(("file", "line", "was", "became", "why it is alive"), lines)))


def main(arguments: Sequence[str] | None = None) -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("compute", "again", "table"))
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "mutation")
    parser.add_argument("--mutants", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--tests", nargs="+", default=(), metavar="TEST")
    given = parser.parse_args(arguments)
    if given.part == "compute":
        compute(given.work, given.mutants, given.seed, given.seconds)
    elif given.part == "again":
        again(given.work, given.seconds, given.tests)
    else:
        table()


if __name__ == "__main__":
    main()
