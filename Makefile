# Everything that a person or CI runs. `make` alone lists it.
PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3)
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
.DEFAULT_GOAL := help
.PHONY: help setup demo up test test-failed test-full check bless bench clean

help: ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@command -v java >/dev/null || $(BIN)/python -m pip install --quiet -c constraints.txt -e '.[java]'
	@touch $@

setup: $(STAMP) ## one virtual environment with everything in it

demo: $(STAMP) ## the whole line on real data, start to end
	$(BIN)/procession demo

up: $(STAMP) ## serve on this machine until Ctrl-C
	$(BIN)/procession up

test: $(STAMP) ## the whole test suite, from nothing
	$(BIN)/python -m pytest -q

test-failed: $(STAMP) ## once more what failed last
	$(BIN)/python -m pytest -q --last-failed --last-failed-no-failures none

test-full: $(STAMP) ## the suite with its slow cases at full size
	PROCESSION_TEST_FULL=1 $(BIN)/python -m pytest -q

check: $(STAMP) ## ruff, mypy, import rules and the fast tests, in some minutes
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q -n 4 -m 'not slow and not spark'

bless: $(STAMP) ## rewrite golden files and generated pages; read the diff
	BLESS=1 $(BIN)/python -m pytest -q tests/planner
	$(BIN)/python -c 'from coordinator.configuration_reference import configuration_reference as c; print(c(), end="")' > docs/configuration.md
	$(BIN)/python -m coordinator.unparser.coverage > docs/functions.md

bench: $(STAMP) ## make bench NAME=rewrite: one benchmark beside its peer
	$(BIN)/python -m benchmarks.$(NAME)

clean: ## remove the environment and everything made by running
	rm -rf $(VENV) var build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
