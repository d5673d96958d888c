# SPDX-License-Identifier: Apache-2.0
# Two commands are all a newcomer needs: `make demo` and `make test`. Each makes the environment it runs in.
export PIP_BUILD_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1
PY ?= $(shell for v in 3.11 3.12 3.13; do python$$v -c '' 2>/dev/null && echo python$$v && break; done)
BIN := .venv/bin
# Where a collector's finalizer prints a traceback, CPython up to 3.11.7 fails whoever parses source meanwhile (gh-106905).
test audit faults soak: export PYTHONNODEBUGRANGES := 1
# Each test process rewrites every test's asserts unless the last run's bytecode is kept, whatever the shell says of it.
test audit faults soak: export PYTHONDONTWRITEBYTECODE :=

.PHONY: help demo broker test audit faults soak check bench wheel
help:                   ## what there is
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

# What running needs: a third of what working on it needs. Python 3.11 puts a setuptools into it that nothing imports.
.venv/demo: pyproject.toml constraints.txt
	@test -n "$(PY)" || { echo "Python 3.11, 3.12 or 3.13 is needed; found none on the path (or say: make PY=/path/to/python)"; exit 1; }
	$(PY) -m venv --clear .venv
	$(BIN)/python -m pip install --quiet --upgrade pip --constraint constraints.txt
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	$(BIN)/python -m pip uninstall --quiet --yes setuptools 2>&1 | grep -v "not installed" || true
	touch $@

# Whatever a command of a clone may need: tests, types, notebooks.
.venv/ready: .venv/demo
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: $(or $(wildcard .venv/ready),.venv/demo)  ## a recorded day, released privately, with a live page; ARGS=--once ends by itself
	$(BIN)/murmurate demo $(ARGS)

broker: .venv/ready     ## a real Kafka broker to try things on, until Ctrl-C; ARGS="--port 9092 --version 4.2.0"
	@$(BIN)/python -m tests.faults.broker $(ARGS)

test: .venv/ready       ## every test; ARGS goes to pytest
	sh tools/browser.sh
	$(BIN)/python -m pytest -n 4 --dist worksteal -m "not audit and not faults" $(ARGS)

soak: .venv/ready       ## half an hour at a steady load on a Kafka of its own: memory, lag, gaps; ARGS="--kind mixed --minutes 60"
	$(BIN)/python -m tests.faults.soak $(ARGS)

audit: .venv/ready      ## the same privacy tests at the long sizes, and the fuzzers
	$(BIN)/python -m pytest -n 2 -m audit --hypothesis-profile fresh $(ARGS)

faults: .venv/ready     ## the long fault runs, on real brokers
	$(BIN)/python -m pytest -m faults $(ARGS)

check: .venv/ready      ## lint, types, import rules, the house
	$(BIN)/python tools/link.py
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pyright
	cd build/typed && ../../$(BIN)/lint-imports --no-logo --cache-dir ../imports --config ../../pyproject.toml
	$(BIN)/python -m pytest -q tests/test_house.py

bench: .venv/ready      ## speed beside other libraries, in one run
	sh benchmarks/run.sh $(ARGS)

wheel: .venv/ready      ## build the wheel into dist/
	rm -rf dist
	$(BIN)/python tools/wheel.py dist
	@ls dist
