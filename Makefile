# make demo    start the help-desk example, drive it with a client, and stop
# make test    linters, types and the whole suite
# make lint    linters and types
#
# Each makes the environment it needs in $(VENV), from Python 3.11 or newer; nothing else has to be there.

VENV ?= .venv
PYTHONS ?= python3 python3.13 python3.12 python3.11
PY = $(VENV)/bin/python
PIP = $(PY) -m pip -qq --disable-pip-version-check
SAY = @printf '%s\n' >&2

.PHONY: demo test lint clean

demo: $(VENV)/.demo
	@$(PY) examples/demo.py

test: lint
	$(PY) -m pytest

lint: $(VENV)/.dev
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m mypy

clean:
	rm -rf $(VENV) build dist

$(VENV)/.demo: $(PY) pyproject.toml constraints.txt
	$(SAY) 'Installing frontmcp and what it needs …'
	@$(PIP) install 'pip>=25.1'
	@$(PIP) install --constraint constraints.txt --editable '.[cli,test,fast]'
	@touch $@

$(VENV)/.dev: $(VENV)/.demo
	$(SAY) 'Installing the tools to develop it …'
	@$(PIP) install --constraint constraints.txt --group dev
	@touch $@

$(PY):
	$(SAY) 'Making a virtual environment in $(VENV) …'
	@for python in $(PYTHONS); do \
	    if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	        $$python -m venv $(VENV) && exit; rm -rf $(VENV); exit 1; \
	    fi; \
	done; \
	echo "frontmcp needs Python 3.11 or newer; python3 here: $$(python3 --version 2>&1)" >&2; exit 1
