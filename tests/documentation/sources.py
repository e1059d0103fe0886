"""What the documentation is made of, for its tests."""

import importlib
import importlib.util
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

# Packages whose __all__ is a promise to users.
PUBLIC_PACKAGES = (
    "dendrocap",
    "dendrocap.errors",
    "dendrocap.model",
    "dendrocap.theory",
    "dendrocap.answers",
    "dendrocap.learning",
    "dendrocap.datasets",
    "dendrocap.solving",
    "dendrocap.sweeps",
    "dendrocap.fitting",
    "dendrocap.plot",
    "dendrocap.reproduction",
)


def script(path):
    """A module of docs/, which is not a package."""
    name = "documentation_" + Path(path).stem
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, DOCS / path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


def public_things():
    """Every class and function that a user may import: (where, name, object), each once."""
    met = set()
    for package in map(importlib.import_module, PUBLIC_PACKAGES):
        for name in package.__all__:
            thing = getattr(package, name)
            if callable(thing) and id(thing) not in met:
                met.add(id(thing))
                yield package.__name__, name, thing
