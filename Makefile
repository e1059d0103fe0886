# `make reproduce` and `make test` need Python >= 3.11 with pip, nothing else; both make their own .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OLD_VENV := .venv-oldest
OUT ?= reproduced
SINCE ?= HEAD
PRESET ?= quick
# Files of tests in the order of collection, so that short ones, the examples of src, come last and end together.
PARALLEL := -n auto --dist loadfile --no-loadscope-reorder
OLDEST ?= # the tests to run with the oldest versions; all by default

.PHONY: explore reproduce quick test test-all test-oldest test-oldest-libraries test-wheel test-sweeps test-site test-browser lint format types coverage bench docs clean help

help:
	@echo "make explore     the page of dendrocap explore, in a browser"
	@echo "make reproduce   every figure of the paper and a report, into $(OUT)/; PRESET=paper for full size"
	@echo "make test        set up and run the fast test suite"
	@echo "make quick       the tests of what changed since the last commit; SINCE=main for a branch"
	@echo "make test-all    every test, slow ones too"
	@echo "make test-sweeps kill sweeps at random moments, and run them on a Dask cluster of this machine"
	@echo "make test-site   the tools that build the documentation"
	@echo "make test-browser the explorer in a real browser, Chromium, if there is one"
	@echo "make test-oldest the fast suite with the oldest supported versions of everything; test-oldest-libraries for a part"
	@echo "make test-wheel  build the wheel, install it into an empty environment and use it there"
	@echo "make lint        ruff, formatting included      make format   let ruff mend it"
	@echo "make docs        the documentation, with its examples run and its links checked, in docs/_build/html"
	@echo "make types       strict mypy on src/            make bench    every benchmark"

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# The stamps keep a second run from installing anything again.
$(VENV)/.package: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.dev: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	@touch $@ $(VENV)/.package

$(VENV)/.docs: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[docs]"
	@touch $@ $(VENV)/.package

$(VENV)/.explore: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[explore]"
	@touch $@ $(VENV)/.package

$(OLD_VENV)/.dev: pyproject.toml tests/oldest.txt
	$(PYTHON) -m venv $(OLD_VENV)
	$(OLD_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --constraint tests/oldest.txt --editable ".[dev]"
	@touch $@

explore: $(VENV)/.explore
	$(BIN)/dendrocap explore

reproduce: $(VENV)/.package
	$(BIN)/dendrocap reproduce --preset $(PRESET) --out $(OUT)

test: $(VENV)/.dev
	$(BIN)/python -m pytest -q $(PARALLEL) $(PYTEST_ARGS)

quick: $(VENV)/.dev
	$(BIN)/python -m pytest -q $(PARALLEL) $$($(BIN)/python -m tests.quick $(SINCE))

test-all: $(VENV)/.dev
	$(BIN)/python -m pytest -q -m "not network and not site"

test-browser: $(VENV)/.dev
	$(BIN)/python -m pytest -q -rs -m browser tests

test-site: $(VENV)/.dev $(VENV)/.docs
	$(BIN)/python -m pytest -q -m site tests

test-sweeps: $(VENV)/.dev
	$(BIN)/python -m pytest -q -m "slow or dask" tests/sweeps

# Compiled code has a folder of its own: two versions of Numba would throw away each other's.
test-oldest: $(OLD_VENV)/.dev
	NUMBA_CACHE_DIR=$(CURDIR)/$(OLD_VENV)/compiled $(OLD_VENV)/bin/python -m pytest -q $(PARALLEL) -p no:cacheprovider $(OLDEST)

# What .ci/run has time for: every public name is used once, by its example, and each library by the tests of what calls
# it most: NumPy and SciPy the model, scikit-learn the classifier, Matplotlib the figures, xarray and pandas tables and
# grids, openpyxl and MorphIO the readers, Typer and Rich the commands. Everything else runs with the newest versions.
test-oldest-libraries: OLDEST = tests/model tests/numerics tests/classifier tests/datasets tests/figures tests/cli/test_cli.py \
	tests/fitting/test_morphology.py tests/sweeps/test_cell_tables.py tests/sweeps/test_store.py tests/theory/test_parameter_grids.py src
test-oldest-libraries: test-oldest

coverage: PYTEST_ARGS = --cov --cov-report=term
coverage: test

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(VENV)/.dev
	$(BIN)/mypy

# Warnings are errors; -n makes a reference that leads nowhere a warning.
docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -n -q -j auto -b html -d docs/_build/doctrees docs docs/_build/html
	$(BIN)/python docs/check_site.py docs/_build/html

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

# The wheel in an empty environment, outside the clone: README's lines of Python, and one command of each kind.
test-wheel: $(VENV)/.dev
	$(BIN)/python tests/wheel.py

clean:
	rm -rf $(VENV) $(OLD_VENV) $(OUT) docs/_build docs/auto_gallery docs/reference/generated .coverage .pytest_cache .mypy_cache .ruff_cache .hypothesis
