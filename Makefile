# Two commands matter on a fresh machine: `make demo` and `make test`. `make help` lists the rest.
# They need Python 3.11 or newer and nothing else; name another interpreter with `make test PYTHON=python3.12`.

PYTHON ?= python3
PIP = .venv/bin/python -m pip --disable-pip-version-check
# pip's errors, not its warnings, which are about the machine and change nothing here.
QUIETLY = --quiet --quiet
ARGS ?=

.PHONY: help setup demo test check format lint types imports benchmarks wheel clean
.DEFAULT_GOAL := help

help:
	@echo "make demo        set up, then learn rules from real data, and leave a report in demo-output"
	@echo "make test        set up, then run the whole suite (one part of it: make test ARGS='-k grammar')"
	@echo "make check       formatting, lint, types, import order, and the package as a wheel"
	@echo "make format      rewrite the files as the formatter wants them"
	@echo "make benchmarks  a short run of every benchmark, to see that it works"
	@echo "make clean       remove .venv and all that tools left behind"

setup: .venv/.ready

# The stamp is written last, so an interrupted set-up starts again; it is redone when a dependency may have changed.
# A working .venv is kept. Wheels only: no compiler is needed, and a missing wheel is said at once.
.venv/.ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "chronorule needs Python 3.11 or newer, but $(PYTHON) is: $$($(PYTHON) --version 2>&1 | head -n 1)." \
	       "Name a newer one: make $(or $(MAKECMDGOALS),setup) PYTHON=python3.12" >&2; exit 1; }
	@.venv/bin/python -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	  || $(PYTHON) -m venv --clear .venv || { \
	  echo "$(PYTHON) cannot make a virtual environment, which keeps chronorule's libraries apart from yours." \
	       "Install its venv module (on Debian and Ubuntu: apt install python3-venv) and run make again." >&2; exit 1; }
	$(PIP) install $(QUIETLY) --only-binary :all: --constraint constraints.txt hatchling editables
	$(PIP) install $(QUIETLY) --only-binary :all: --constraint constraints.txt --no-build-isolation --editable '.[dev]'
	@touch $@

demo: setup
	.venv/bin/chronorule demo

test: setup
	.venv/bin/python -m pytest $(ARGS)

check: lint types imports wheel

format: setup
	.venv/bin/ruff check --fix-only --quiet .
	.venv/bin/ruff format .

lint: setup
	@.venv/bin/ruff format --check . && formatted=yes || formatted=no; \
	  .venv/bin/ruff check . && test $$formatted = yes

types: setup
	.venv/bin/mypy

imports: setup
	.venv/bin/lint-imports --no-logo

benchmarks: setup
	@set -e; for file in benchmarks/[a-z]*.py; do echo "$$file --short"; .venv/bin/python "$$file" --short; done

wheel: setup
	@$(PIP) check
	@rm -rf build/wheel
	$(PIP) wheel --quiet --no-deps --no-build-isolation --wheel-dir build/wheel .
	@.venv/bin/python -m zipfile --list build/wheel/chronorule-*.whl | grep chronorule/py.typed >/dev/null \
	  || { echo "The wheel lacks chronorule/py.typed, so users get no types; see [tool.hatch] in pyproject.toml." >&2; exit 1; }

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .benchmarks
	find src tests benchmarks examples tools -name __pycache__ -type d -prune -exec rm -rf {} +
