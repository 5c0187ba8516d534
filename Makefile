# One command each for the demo, the tests and the checks; needs only make and Python 3.11 or newer.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV ?= .venv
CHECK_VENV ?= .venv-check
PYTEST_ARGS ?=
# Processes that share the default tests; the slow suites measure and run in one.
WORKERS ?= 2
CODE := graphmem extractors traversal tests setup.py $(wildcard notebooks)

# The engines have wheels for 3.11 to 3.13, so these come first; any newer Python is the last resort.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null \
	&& echo $$p && exit; done; echo python3)

BIN := $(VENV)/bin
SLOW = $(BIN)/python -m pytest -m "slow and not bench" --timeout 1200
# Suites with a line of their own in a full run; the slow tests leave them out.
LOSS := tests/store/kill $(wildcard tests/store/test_damage*.py) tests/store/test_disk.py \
	tests/store/test_places.py
SOAK := tests/soak
CHECK_BIN := $(abspath $(CHECK_VENV))/bin
PINS := pyproject.toml setup.py constraints.txt
PIP := -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: help demo test check lint types contracts slow loss soak notebooks bench format clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.base ## Run the demonstration on a fresh vault
	$(BIN)/python -m tests.demo.run

test: $(VENV)/.dev ## Run the default tests (under 10 minutes)
	$(BIN)/python -m pytest -n $(WORKERS) $(PYTEST_ARGS)

slow: $(VENV)/.dev ## Run the slow tests: crashes, concurrency, packaging
	$(SLOW) $(addprefix --ignore=,$(LOSS) $(SOAK)) $(PYTEST_ARGS)

loss: $(VENV)/.dev ## Run the kill, damage and disk suites; they print what they did
	$(SLOW) $(LOSS) $(PYTEST_ARGS)

soak: $(VENV)/.dev ## Let eight processes work on one vault for three minutes
	$(SLOW) $(SOAK) $(PYTEST_ARGS)

bench: $(VENV)/.dev ## Run the measurements and print them
	$(BIN)/python -m pytest -m bench -s --timeout 7200 $(PYTEST_ARGS)

notebooks: $(VENV)/.dev ## Execute every notebook
	$(BIN)/python -m pytest --nbmake --nbmake-timeout 600 --timeout 1200 notebooks $(PYTEST_ARGS)

check: lint types contracts ## Check format, lint, types and import contracts

lint: $(VENV)/.dev ## Check format and lint
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check $(CODE)

# The checkout maps three folders onto one package, which type checker and import checker cannot see:
# both run on an installed wheel, from an empty folder, so that the checkout does not shadow it.
types: $(CHECK_VENV)/.wheel ## Check types on the installed wheel
	@away=$$(mktemp -d) && trap 'rm -rf "$$away"' EXIT && echo "mypy --strict -p graphmem" && \
	cd "$$away" && $(CHECK_BIN)/python -m mypy --strict --config-file $(CURDIR)/pyproject.toml \
		--cache-dir $(CURDIR)/.mypy_cache/wheel -p graphmem

contracts: $(CHECK_VENV)/.wheel ## Check import contracts on the installed wheel
	@away=$$(mktemp -d) && trap 'rm -rf "$$away"' EXIT && echo "lint-imports" && \
	cd "$$away" && $(CHECK_BIN)/lint-imports --no-cache --no-logo $(CURDIR)/pyproject.toml

format: $(VENV)/.dev ## Rewrite the code in the project's format
	$(BIN)/ruff check --fix --exit-zero --quiet $(CODE)
	$(BIN)/ruff format $(CODE)

clean: ## Remove environments, builds and caches
	rm -rf $(VENV) $(CHECK_VENV) build dist ./*.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
		{ echo "graphmem needs Python 3.11 or newer; '$(PYTHON)' is not." \
		"Name one: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.base: $(VENV)/.python $(PINS)
	@echo "installing graphmem into $(VENV); the first time takes a minute or two"
	$(BIN)/python $(PIP) --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.base
	$(BIN)/python $(PIP) --editable ".[dev]"
	@touch $@

$(CHECK_VENV)/.tools: $(VENV)/.dev
	test -x $(CHECK_BIN)/python || $(BIN)/python -m venv $(CHECK_VENV)
	$(CHECK_BIN)/python $(PIP) ".[check]"
	@rm -rf build
	@touch $@

# Always rebuilt: `build` keeps files that the sources no longer have, so it goes first.
.PHONY: $(CHECK_VENV)/.wheel
$(CHECK_VENV)/.wheel: $(CHECK_VENV)/.tools
	@rm -rf build $(CHECK_VENV)/dist
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation -w $(CHECK_VENV)/dist .
	$(CHECK_BIN)/python $(PIP) --force-reinstall --no-deps $(CHECK_VENV)/dist/*.whl
	@rm -rf build
