# Everything sets itself up: `make study-warmup` and `make test` work on a fresh clone with Python 3.11 to 3.13.
PYTHON ?= python3
VENV ?= .venv
# Which torch to install where none is there yet; any from 2.11 on will do. Wheels for a GPU or for a CPU: your choice.
TORCH ?= torch==2.13.0
# Options of `python -m venv`; --system-site-packages reuses a torch that the machine already has.
VENV_OPTIONS ?=
STORE ?= results
SCALE ?=
ARGS ?=
PORT ?= 5000
TEST_PROCESSES ?= 2

BIN := $(VENV)/bin
READY := $(VENV)/.ready
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
export FOLKLORE_STORE := $(STORE)
export MLFLOW_DISABLE_TELEMETRY := true

.PHONY: help setup audit studies calibrate bench chaos test test-gpu lint check reports notebook mlflow doctor clean
.DEFAULT_GOAL := help

help: ## this list
	@grep -hE '^[a-z%-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'
	@echo "  Variables: SCALE=smoke|laptop|gpu|cluster  STORE=$(STORE)  ARGS='…' (passed on to folklore run)"

setup: $(READY) ## make the environment in .venv (the other targets do it themselves)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; \
	  sys.exit(None if (3, 11) <= v <= (3, 13) else f"Python {v[0]}.{v[1]}: Folklore needs 3.11 to 3.13; make PYTHON=python3.12 …")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV_OPTIONS) $(VENV)
	@$(BIN)/python -c 'import torch; assert tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 11)' 2>/dev/null \
	  || { echo "installing $(TORCH)"; $(INSTALL) "$(TORCH)"; }
	@echo "installing folklore and what it needs"
	@$(INSTALL) -c constraints.txt -e '.[dev]'
	@# Only the tests use it, without the torchvision it asks for (which would fetch another torch).
	@$(INSTALL) --no-deps -c constraints.txt mup
	@# On all cores, where pip would take one; libraries carry some files that no Python compiles.
	@$(BIN)/python -m compileall -qq -j 0 $(VENV)/lib || true
	@touch $@

study-%: $(READY) ## run a study, judge it and write its page, e.g. make study-warmup
	@$(BIN)/folklore run $* $(if $(SCALE),--scale $(SCALE)) $(ARGS)

studies: $(READY) ## run all seven studies, e.g. make studies SCALE=gpu ARGS='--budget 9m'
	@$(BIN)/folklore run --all $(if $(SCALE),--scale $(SCALE)) $(ARGS)

chaos: $(READY) ## strike runs 100 times at random moments, and see that nothing is lost (about an hour)
	@$(BIN)/python -m tests.chaos $(ARGS)

calibrate: $(READY) ## draw worlds whose truth is known and count how often the judge is right (about half an hour on 2 cores)
	@$(BIN)/folklore calibrate --output reports/evidence/calibration.json $(ARGS)

bench: $(READY) ## measure the engine and the harness, into tests/benchmarks/results (40 minutes on 2 cores)
	@$(BIN)/python -m tests.benchmarks

test: $(READY) ## run the tests
	@# Two processes at the least: half of the suite waits for processes of its own.
	@$(BIN)/python -m pytest -n $(TEST_PROCESSES) --dist loadfile --no-loadscope-reorder

test-gpu: $(READY) ## run the tests that need a GPU
	@FOLKLORE_TEST_GPU=1 $(BIN)/python -m pytest -m gpu

audit: $(READY) ## pinned dependencies: installed, fitting, and without known vulnerabilities (those need a network to be looked up)
	@$(BIN)/python -m tests.audit

lint: $(READY) ## style and types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

check: lint test ## lint and test

reports: $(READY) ## write all pages again from stored and published trials, and the matrix in reports/README.md, without training
	@$(BIN)/folklore report
	@$(BIN)/python -m reports.matrix

notebook: $(READY) ## execute reports/example.ipynb again and keep what it shows
	@$(BIN)/python -m tests.reports.example_notebook

mlflow: $(READY) ## browse the runs on http://127.0.0.1:5000
	@$(BIN)/folklore mlflow --port $(PORT)

doctor: $(READY) ## check this machine and installation
	@$(BIN)/folklore doctor

clean: ## remove the environment (results stay)
	rm -rf $(VENV)
