# The commands of this project. `make setup` runs by itself when it is needed.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help setup demo test unit integration deployment lint format bench model chaos clean

help:
	@echo "make demo         run the main job: GitHub webhooks through an agent on a real Apache Kafka"
	@echo "make test         lint, types, layers, and all tests"
	@echo "make unit         the tests that need no broker (seconds)"
	@echo "make integration  the tests on a real Apache Kafka"
	@echo "make deployment   tests of deploy/: images, chart, alerts; skips what needs Docker, Helm or promtool without them"
	@echo "make lint         ruff, mypy, import-linter"
	@echo "make bench        the benchmarks"
	@echo "make chaos        10 minutes of killed and halted processes and brokers, one answer each (SEED=n repeats)"
	@echo "make model        the protocol's model, its short cases (docs/model)"
	@echo "make setup        .venv with everything (the others do it when needed)"

# The stamp is newer than pyproject.toml once everything in it is installed.
$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable ".[dev,docker,openai,anthropic,mcp,registry,otel,disk,sqlite,pgvector,qdrant]" --group test
	touch $@

setup: $(VENV)/.installed

demo: setup
	$(BIN)/python -m examples.github_triage.demo

test: lint unit integration deployment

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

unit: setup
	$(BIN)/pytest tests/unit examples

integration: setup
	$(BIN)/pytest tests/integration --numprocesses 2 --dist loadfile

deployment: setup
	$(BIN)/pytest tests/deploy tests/containers

bench: setup
	$(BIN)/python benchmarks/run.py

$(VENV)/.model: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group model
	touch $@

model: $(VENV)/.model
	$(BIN)/python docs/model/check.py short

SEED ?= $(shell $(PYTHON) -c "import random; print(random.randrange(1000000))")

chaos: setup
	$(BIN)/python -m tests.chaos --brokers 1 --seed $(SEED)
	$(BIN)/python -m tests.chaos --brokers 3 --seed $(SEED)

clean:
	rm -rf $(VENV)
