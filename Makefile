# One virtual environment, .venv, serves everything. `make run` puts only what the server needs into it,
# `make dev` (and all that builds on it) adds the tools. The stamp files say what is already installed, so
# a second run starts at once and a changed lock file installs anew.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# Extras that the locked development set holds beside the runtime.
DEV_EXTRAS := dev

# A name on the PATH may be a shim without an interpreter behind it, so each candidate has to run.
define FIND_PYTHON
for candidate in $(PYTHON) python3.11 python3.12 python3.13 python3.14 python3 python; do \
    if "$$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
    then found="$$candidate"; break; fi; \
done; \
if [ -z "$${found:-}" ]; then \
    echo "Penstock needs Python 3.11 or newer with its venv module, and none was found." >&2; \
    echo "Install one, or name it: make PYTHON=/path/to/python3 $(MAKECMDGOALS)" >&2; \
    exit 2; \
fi
endef

.PHONY: help
help: ## show this list
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: run
run: $(VENV)/.run-installed ## install what the server needs, then serve (ARGS="--listen 127.0.0.1:9000")
	@exec $(BIN)/penstock serve $(ARGS)

.PHONY: dev
dev: $(VENV)/.dev-installed ## install the runtime and the development tools into .venv

.PHONY: format
format: $(VENV)/.dev-installed ## rewrite the code in the house format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

.PHONY: check
check: $(VENV)/.dev-installed ## format, lint, types, room boundaries and small habits, without changing a file
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest --quiet tests/tidy

.PHONY: test
test: check ## check, then every test
	$(BIN)/pytest -n auto $(ARGS)

.PHONY: test-quick
test-quick: $(VENV)/.dev-installed ## the tests that take seconds
	$(BIN)/pytest -m "not slow" $(ARGS)

.PHONY: bench
bench: $(VENV)/.dev-installed ## measure what a request costs here (DEPTH=5000000 ARGS="--peers")
	$(BIN)/python -m bench.run $(if $(DEPTH),--depth $(DEPTH)) $(ARGS)

.PHONY: build
build: $(VENV)/.dev-installed ## build the wheel into dist/
	$(PIP) wheel --no-deps --no-build-isolation --wheel-dir dist .

.PHONY: lock
lock: $(VENV)-lock/.installed ## resolve the locked versions anew (needs Python 3.11, the oldest we support)
	$(call COMPILE,requirements/lock.txt,requirements/lock.in)
	$(call COMPILE,requirements/run.txt,--build-deps-for editable pyproject.toml)
	$(call COMPILE,requirements/dev.txt,--build-deps-for editable $(DEV_EXTRAS:%=--extra %) \
	    --constraint requirements/run.txt pyproject.toml)

.PHONY: clean
clean: ## remove everything that was made here, .venv included; data stays
	rm -rf $(VENV) $(VENV)-lock dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(FIND_PYTHON); "$$found" -m venv $(VENV)

# Hashes guard what is downloaded; the project itself is built here with the locked backend.
define INSTALL
$(PIP) install --require-hashes --requirement $(1)
$(PIP) install --no-deps --no-build-isolation --editable .
endef

$(VENV)/.run-installed: requirements/run.txt pyproject.toml | $(BIN)/python
	@echo "Installing Penstock into $(VENV) ..."
	@$(call INSTALL,requirements/run.txt)
	@touch $@

# The development set is a superset with the same runtime versions: it satisfies `make run` as well.
$(VENV)/.dev-installed: requirements/dev.txt requirements/run.txt pyproject.toml | $(BIN)/python
	@echo "Installing Penstock and its development tools into $(VENV) ..."
	@$(call INSTALL,requirements/dev.txt)
	@touch $(VENV)/.run-installed $@

$(VENV)-lock/.installed: requirements/lock.txt
	@python3.11 -m venv $(VENV)-lock
	@$(VENV)-lock/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes \
	    --requirement requirements/lock.txt
	@touch $@

# No index address and no local directory may reach the lock files: they hold for every machine.
COMPILE = CUSTOM_COMPILE_COMMAND="make lock" $(VENV)-lock/bin/pip-compile --quiet --upgrade \
    --generate-hashes --allow-unsafe --strip-extras --no-config \
    --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-emit-options \
    --output-file $(1) $(2)
