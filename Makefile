# Everything sets itself up: a virtual environment in .venv, filled through constraints.txt.
PYTHON ?= $(shell command -v python3.11 >/dev/null 2>&1 && python3.11 -c '' 2>/dev/null && echo python3.11 || echo python3)
BIN := .venv/bin
# Compiled modules are kept: the tests start many processes.
unexport PYTHONDONTWRITEBYTECODE
# Test processes; each uses one thread.
WORKERS ?= auto

.PHONY: paper setup demo test lint types imports pytest chromium fuzz site docs lock clean

setup: .venv/.ready

.venv/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt -e ".[test,docs]"
	$(BIN)/python -m compileall -q -j 0 -x '/(tests?|mypyc?|pip)/' .venv/lib >/dev/null || true
	touch $@

# The browser is fetched while the environment is made, and types are looked at while the tests run.
test:
	@$(MAKE) --no-print-directory -j2 setup chromium
	@$(MAKE) --no-print-directory lint imports
	@$(MAKE) --no-print-directory -j2 types pytest

lint: setup
	$(BIN)/ruff check src tests paper benchmarks
	$(BIN)/ruff format --check src tests paper benchmarks

types: setup
	$(BIN)/mypy

imports: setup
	PYTHONPATH=. $(BIN)/lint-imports --no-cache

pytest: setup chromium
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile

chromium:
	.ci/chromium

# Opens damaged files of every kind on all cores until Ctrl-C; failures are kept in tests/fuzz/corpus.
CORES := $(shell getconf _NPROCESSORS_ONLN)
fuzz: setup
	seq $(CORES) | xargs -P $(CORES) -I{} $(BIN)/python -m tests.fuzz

# The documentation in site/, where every page but the search works from disk.
site: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# The same, served at http://127.0.0.1:8000 until Ctrl-C, so that the search works too.
docs: site
	@echo 'Look at http://127.0.0.1:8000'
	@$(BIN)/python -m http.server --bind 127.0.0.1 --directory site 8000 || true

# Fits a photo on the CPU and leaves a report; PHOTO=... takes one of yours.
demo: setup
	$(BIN)/python -m staf.cli.demo $${PHOTO:+"$$PHOTO"}

# Every table and figure of the paper on small data, in a few minutes; the page says what can be run in full.
paper: setup
	$(BIN)/python -m paper all --quick
	@echo 'Look at results/quick/index.html'

# The versions that the tests run with, from those installed.
lock: setup
	@{ echo '# The lock file of development: the versions that the tests run with. `make lock` writes it anew.'; \
	   $(BIN)/python -m pip freeze --exclude-editable --exclude staf | sed 's/+cpu$$//'; } > constraints.new
	@mv constraints.new constraints.txt

clean:
	rm -rf .venv build dist site demo runs
