# Everything sets itself up: `make study-warmup` and `make test` work on a fresh clone with Python 3.11 to 3.13.
PYTHON ?= >=3.11,<3.14
VENV ?= .venv
# Which torch to install; any from 2.11 on will do: a version, a wheel, an address.
TORCH ?= $(shell grep '^torch==' constraints.txt)
# Without a GPU no GPU libraries are installed; CUDA=1 installs them all the same (a cluster's login node).
CUDA ?=
# Options of `uv venv`; --system-site-packages reuses a torch that the machine already has.
VENV_OPTIONS ?=
STORE ?= results
SCALE ?=
ARGS ?=
PORT ?= 5000
TEST_PROCESSES ?= 2
# Drivers to install beside the rest: those of the addresses that are given.
EXTRAS ?= $(if $(findstring s3://,$(STORE) $(ARGS)),s3) $(if $(findstring postgresql,$(FOLKLORE_TRACKING) $(ARGS)),postgresql)

BIN := $(VENV)/bin
# A stamp for what studies need, and one for each extra on top of it; dev is what tests and checks need.
READY := $(VENV)/.ready $(EXTRAS:%=$(VENV)/.ready-%)
READY_DEV := $(VENV)/.ready-dev
# constraints.txt is the lock, not a uv.lock: that one holds the address of an index beside each package.
UV := $(or $(shell command -v uv 2>/dev/null),.uv/bin/uv)
INSTALL := $(UV) pip install --quiet --python '$(BIN)/python' -c '$(VENV)/constraints.txt' --override '$(VENV)/overrides.txt'
HAS_TORCH := $(BIN)/python -c 'from importlib.metadata import version; exit([*map(int, version("torch").split(".")[:2])] < [2, 11])'
PYTEST_OPTIONS := -n $(TEST_PROCESSES) --dist loadfile --no-loadscope-reorder --durations=25
PYTEST := $(BIN)/python -m pytest $(PYTEST_OPTIONS)
export FOLKLORE_STORE := $(STORE)
export MLFLOW_DISABLE_TELEMETRY := true
# Of several indexes pip takes the best version that any of them has, uv the first index that knows the name.
export UV_INDEX_STRATEGY ?= unsafe-best-match
# uv reads none of pip's settings: where pip's variables say that packages are, it looks as well, unless its own say otherwise.
# pip parts several folders by blanks, uv by commas.
comma := ,
define passed_on
ifdef PIP_$(1)
export $(2) ?= $$(PIP_$(1))
endif
endef
$(eval $(call passed_on,INDEX_URL,UV_DEFAULT_INDEX))
$(eval $(call passed_on,EXTRA_INDEX_URL,UV_EXTRA_INDEX_URL))
ifdef PIP_FIND_LINKS
export UV_FIND_LINKS ?= $(subst $() $(),$(comma),$(strip $(PIP_FIND_LINKS)))
endif
$(eval $(call passed_on,NO_INDEX,UV_NO_INDEX))
$(eval $(call passed_on,TRUSTED_HOST,UV_INSECURE_HOST))
$(eval $(call passed_on,PROXY,ALL_PROXY))
$(eval $(call passed_on,DEFAULT_TIMEOUT,UV_HTTP_TIMEOUT))
$(eval $(call passed_on,CERT,SSL_CERT_FILE))
$(eval $(call passed_on,CLIENT_CERT,SSL_CLIENT_CERT))
# The torch of the user's own wheels is taken as it is, another one as it fits the GPU that is here or is not.
ifeq ($(CUDA)$(UV_FIND_LINKS)$(UV_TORCH_BACKEND),)
export UV_TORCH_BACKEND := auto
endif
# A run compiles the 4,000 modules that it imports and keeps them; all 25,000 beforehand would take half a minute on two cores.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup setup-dev audit studies ladder calibrate bench chaos mutants nightly test test-slow test-all test-nightly test-lowest test-processors test-gpu lint check reports notebook mlflow doctor clean
.DEFAULT_GOAL := help
# One environment, one set of cores: targets wait for each other.
.NOTPARALLEL:

help: ## this list
	@grep -hE '^[a-z%-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'
	@echo "  Variables: SCALE=smoke|laptop|workstation|gpu|cluster  STORE=$(STORE)  ARGS='…' (passed on to folklore run)"
	@echo "  Set-up: TORCH=$(TORCH)  CUDA=1 (GPU libraries anyway)  EXTRAS='s3 postgresql'  PYTHON='$(PYTHON)'"
	@echo "          VENV_OPTIONS=--system-site-packages (the machine's torch)"

setup: $(READY) ## make the environment in .venv, with what studies need (the other targets do it themselves)

setup-dev: $(READY_DEV) ## the same with what tests and checks need

.uv/bin/uv:
	@python3 -m venv .uv && .uv/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt uv || \
		{ echo "error: uv cannot be had: put it on PATH, install your system's python3-venv, or tell pip where packages are" \
		"(PIP_INDEX_URL=…)" >&2; exit 2; }

$(BIN)/python: | $(UV)
	@$(UV) venv --quiet $(VENV_OPTIONS) --python '$(PYTHON)' '$(VENV)'

# A torch that is there and not too old stays, also the machine's, which uv does not see. mup, of which the tests use what needs no
# torchvision, brings none. Type checkers, which read no import hooks, find the folders under their package's name by links.
$(VENV)/.ready: pyproject.toml constraints.txt | $(BIN)/python
	@echo 'installing $(TORCH), Ray, MLflow and what else studies need, with uv (about half a minute)' >&2
	@grep -v '^torch==' constraints.txt > '$(VENV)/constraints.txt'
	@echo "torchvision ; sys_platform == 'never'" > '$(VENV)/overrides.txt'
	@if $(HAS_TORCH) 2>/dev/null; then echo "torch ; sys_platform == 'never'" >> '$(VENV)/overrides.txt'; fi
	@mkdir -p .links/folklore
	@for room in harness models reports studies; do ln -sfn ../../$$room .links/folklore/$$room; done
	@$(INSTALL) '$(TORCH)' -e '.[train]' pip
	@touch $@

$(VENV)/.ready-%: $(VENV)/.ready
	@echo "installing the extra '$*', with uv" >&2
	@$(INSTALL) -e '.[$*]' $(if $(filter dev,$*),mup)
	@touch $@

study-%: $(READY) ## run a study, judge it and write its page, e.g. make study-warmup
	@$(BIN)/folklore run $* $(if $(SCALE),--scale $(SCALE)) $(ARGS)

studies: $(READY) ## run all studies, e.g. make studies SCALE=gpu ARGS='--budget 9m'
	@$(BIN)/folklore run --all $(if $(SCALE),--scale $(SCALE)) $(ARGS)

# Rungs of two cores; a GPU's are gpu, rung_3m and cluster.
LADDER ?= laptop rung_25k rung_50k rung_80k
ladder: $(READY) ## train the sizes of every ladder, smallest first, e.g. make ladder ARGS='--budget 40m' LADDER='gpu rung_3m'
	@for rung in $(LADDER); do nice $(BIN)/folklore run --ladders --scale $$rung $(ARGS) || exit $$?; done

chaos: $(READY_DEV) ## strike runs 100 times at random moments, and see that nothing is lost (about an hour)
	@$(BIN)/python -m tests.chaos $(ARGS)

calibrate: $(READY) ## draw worlds whose truth is known and count how often the judge is right (an hour on 2 cores: half of it for `folklore judge`)
	@$(BIN)/python -m tests.calibration --output reports/evidence/calibration.json $(ARGS)
	@$(BIN)/python -m tests.calibration --runs --worlds 2000 --output reports/evidence/judged_runs_calibration.json
	@# Another seed than 0, on which the rules of trends were chosen.
	@$(BIN)/python -m tests.calibration --ladders --seed 20261129 --worlds 400 --output reports/evidence/ladders_calibration.json

mutants: $(READY_DEV) ## plant random mutants in harness/judge and harness/train and list those that no test of theirs notices (an hour)
	@$(BIN)/python -m tests.mutations.mutants $(ARGS)

bench: $(READY_DEV) ## measure the engine and the harness, into tests/benchmarks/results (40 minutes on 2 cores)
	@$(BIN)/python -m tests.benchmarks

test: $(READY_DEV) ## run the fast tests
	@# Two processes at the least: half of the suite waits for processes of its own.
	@$(PYTEST) -m "not slow and not gpu"

test-slow: $(READY_DEV) ## run what `make test` leaves out: planted studies, a campaign, planted faults, browser
	@$(PYTEST) -m "slow and not nightly and not gpu"

test-all: $(READY_DEV) ## both at once, as CI does; up to three tests that fail run once more, alone (tests/once_more.py)
	@$(BIN)/python -m tests.once_more $(PYTEST_OPTIONS) -m "not nightly and not gpu"

test-nightly: $(READY_DEV) ## run the long forms of tests whose short form is in `make test-all`
	@$(PYTEST) -m "nightly and not gpu"

test-lowest: $(READY_DEV) ## run a study, `folklore judge` and the fast tests on the lowest versions that pyproject.toml allows
	@$(BIN)/python -m tests.lowest --uv '$(UV)' --venv '$(VENV)-lowest' --torch '$(TORCH)' $(PYTEST_OPTIONS) -m "not slow and not gpu"

test-processors: $(READY_DEV) ## judge what is published and run the numeric tests as other processors would (all rows, or ARGS=ROW)
	@$(BIN)/python -m tests.processors $(ARGS)

nightly: test-all test-nightly test-lowest test-processors chaos mutants bench ## what takes hours and seldom fails: all tests, lowest versions, processors, chaos, mutants, benchmarks, calibration
	@$(BIN)/python -m tests.calibration

test-gpu: $(READY_DEV) ## run the tests that need a GPU
	@FOLKLORE_TEST_GPU=1 $(BIN)/python -m pytest -m gpu

audit: $(READY_DEV) ## pinned dependencies: installed, fitting, and without known vulnerabilities (those need a network to be looked up)
	@$(BIN)/python -m tests.audit

lint: $(READY_DEV) ## style, types, and that no room outgrows its budget
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/python -m tests.weight
	@$(BIN)/mypy

check: lint test ## lint and test

reports: $(READY) ## write all pages again from stored and published trials, and the matrix in reports/README.md, without training
	@$(BIN)/folklore report
	@$(BIN)/python -m folklore.reports.matrix

notebook: $(READY_DEV) ## execute reports/example.ipynb again and keep what it shows
	@$(BIN)/python -m tests.reports.example_notebook

mlflow: $(READY) ## browse the runs on http://127.0.0.1:5000
	@$(BIN)/folklore mlflow --port $(PORT)

doctor: $(READY) ## check this machine and installation
	@$(BIN)/folklore doctor

clean: ## remove the environments (results stay)
	rm -rf $(VENV) $(VENV)-lowest .uv
