# Needs Python >= 3.11, make and git; every target makes the virtual environment on first use.
PYTHON ?= python3
BIN := .venv/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)
export OMP_WAIT_POLICY ?= PASSIVE
export DVC_NO_ANALYTICS = 1

.PHONY: repro test lint ui clean
.DEFAULT_GOAL := repro

$(BIN)/.installed: pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "installing into .venv (torch alone is several GB; once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

repro: $(BIN)/.installed  ## pull the published layers, bring every stage up to date, retrain and compare with the published table
	dvc pull --quiet
	dvc repro --quiet
	nnirp reproduce

test: $(BIN)/.installed
	python -m pytest

lint: $(BIN)/.installed
	ruff check .
	ruff format --check .

ui: $(BIN)/.installed  ## the MLflow UI over every recorded run, on 127.0.0.1
	nnirp ui

clean:  ## everything that can be made again, except the environment
	rm -rf .work .pytest_cache .ruff_cache .hypothesis mlruns/mlflow.db mlruns/artifacts
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
