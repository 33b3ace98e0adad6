# Everything runs in .venv, which the first target that needs it creates. Give another interpreter with
# `make demo PYTHON=python3.13`, another number of test processes with `make test WORKERS=8`. `make bench` reads the text
# sets from the folder that TREEWASS_DATA names.

PYTHON ?= python3
WORKERS ?= 2
BENCH ?= all --page docs/results.md

VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check --no-input -c constraints.txt
PYTEST := $(BIN)/python -m pytest -n $(WORKERS)

# A stamp is newer than what it was made from, so that nothing is installed twice.
VENV_STAMP := $(VENV)/.created
DEMO_STAMP := $(VENV)/.installed-demo
DEV_STAMP := $(VENV)/.installed-dev

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo test test-all lint format docs bench lock clean

help: ## List these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

demo: $(DEMO_STAMP) ## The whole flow on a built-in corpus
	@$(BIN)/treewass demo

test: $(DEV_STAMP) ## The tests that need neither data nor a browser, in minutes
	$(PYTEST) -m "not data and not browser and not slow"

# ONLY_MARKED=1 leaves out what `make test` has run already.
test-all: $(DEV_STAMP) ## Every test; says what it skips and why
	$(PYTEST) $(if $(ONLY_MARKED),-m "data or browser or slow")

lint: $(DEV_STAMP) ## Rules, format, types, order of imports and spelling
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell

format: $(DEV_STAMP) ## Apply the format and the fixes that are safe
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(DEV_STAMP) ## The documentation, as docs/_build/html/index.html
	rm -rf docs/api docs/_build
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

bench: $(DEV_STAMP) ## The paper's tables and figures; BENCH=speed for another measure
	$(BIN)/python -m treewass_bench $(BENCH)

# torch is left out: its builds differ by device, and constraints.txt pins the version.
lock: $(VENV_STAMP) ## requirements.lock: the pins of constraints.txt with their hashes
	@$(BIN)/python -m pip install -qq --disable-pip-version-check uv
	grep -v '^torch==' constraints.txt | $(BIN)/uv pip compile - -o requirements.lock --quiet --no-deps --generate-hashes \
	  --universal --python-version 3.11 --no-annotate --custom-compile-command 'make lock'

clean: ## Remove what was built, but not .venv
	rm -rf build dist docs/api docs/_build .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find src tests benchmarks docs -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV_STAMP):
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "treewass needs Python 3.11 or newer, \
	but $(PYTHON) is %d.%d. Name a newer one, such as: make demo PYTHON=python3.13" % sys.version_info[:2])'
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "$(PYTHON) cannot make a virtual environment: install its venv module (Debian, Ubuntu: apt install python3-venv)." >&2; \
	  exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(DEMO_STAMP): $(VENV_STAMP) pyproject.toml constraints.txt
	@echo "Installing treewass into $(VENV): about a minute, once."
	@$(PIP_INSTALL) -e '.[plot]'
	@touch $@

# What the tests need holds what the demo needs.
$(DEV_STAMP): $(VENV_STAMP) pyproject.toml benchmarks/pyproject.toml constraints.txt
	@echo "Installing treewass and its development tools into $(VENV): a minute or two, once."
	@$(PIP_INSTALL) -e '.[dev]' -e benchmarks
	@touch $(DEMO_STAMP) $@
