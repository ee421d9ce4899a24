# Every target works from a fresh clone with Python 3.11 or newer, make and git.
# `make demo` installs the library and its figures; the other targets add tests, linters and documentation tools.
PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
LIBRARY := .venv/.installed-library
RELEASE := .venv/.installed-release
DEVELOPMENT := .venv/.installed

.PHONY: demo test test-fast browser pictures integrations lint audit dist readme-check release-check bench soak results docs format clean

demo: $(LIBRARY)
	$(BIN)/allweather demo

test: $(DEVELOPMENT) browser
	$(BIN)/python -m pytest -n auto --dist worksteal -rs

# The parts and the study, without browsers, other tools, documentation and long studies; it names what it leaves out.
test-fast: $(DEVELOPMENT)
	$(BIN)/python -m pytest -n auto --fast

# The page is tested in a real browser. Where Chromium cannot be had, pytest names the tests that it leaves out.
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "installing Chromium for the tests of the page"; \
	  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium; } \
	    >/dev/null 2>&1 || echo "Chromium could not be installed"; \
	else echo "no Chromium, and no right to install it: tests in a browser are left out"; fi

pictures: $(DEVELOPMENT) browser
	$(BIN)/python docs/pictures.py
	$(BIN)/python docs/screenshots.py

# Each in an environment of its own, with that tool and nothing else: some minutes.
integrations:
	$(PYTHON) tests/integrations/clean_environments.py

lint: $(DEVELOPMENT)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/bandit -q -c pyproject.toml -r src

# Known vulnerabilities of the installed packages. It is no part of `lint`, because it asks pypi.org: a machine without
# that address could not tell, and a new report about another package would fail changes that have nothing to do with it.
# With --strict a package about which nothing could be learned is an error, and not a line at the end.
audit: $(DEVELOPMENT)
	$(INSTALL) -e '.[audit]'
	$(BIN)/pip freeze --exclude-editable | sed 's/+[^ ]*//' > .venv/audited.txt
	$(BIN)/pip-audit --strict --no-deps --disable-pip --progress-spinner off --requirement .venv/audited.txt

# Wheel and source distribution of the last commit, checked, with checksums and an SBOM (CycloneDX).
dist: $(RELEASE)
	$(BIN)/python -m tests.release.distribution

# The two commands of README in an empty folder, from a clone and from the source distribution: twice as long as
# `make test`, or with QUICK=1 without what is slow.
readme-check: dist
	$(PYTHON) tests/release/first_use.py readme $(if $(QUICK),--quick)

# The wheel in empty environments: Python versions x extras x lowest and newest dependencies, and the transcript of a
# first use. Where there is no torch without CUDA, TORCH=plain installs one with it: gigabytes. Stopped and started with
# MISSING=1, it goes on with what has not passed yet.
TORCH ?=
release-check: dist
	$(PYTHON) tests/release/first_use.py wheel
	$(BIN)/python -m tests.release.matrix dist/*.whl $(if $(filter plain,$(TORCH)),--plain-torch) $(if $(MISSING),--missing)

# Workers that are killed and suspended, pages under load, deleted logs, damaged bytes, upgrades and backups while all
# write, and one verdict: ten minutes on each of SQLite and PostgreSQL side by side, or more with MINUTES=30 or HOURS=1.
HOURS ?=
MINUTES ?= $(if $(HOURS),$(shell echo $$(( 60 * $(HOURS) ))),10)
soak: $(DEVELOPMENT)
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks soak --minutes $(MINUTES)

bench: $(DEVELOPMENT)
	$(BIN)/python -m benchmarks

# Runs of the papers' figures (hours; stop it and start it again as you like), and the page that is written from them.
results: $(DEVELOPMENT)
	$(BIN)/python -m benchmarks papers
	$(BIN)/python -m benchmarks results

docs: $(DEVELOPMENT)
	$(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

format: $(DEVELOPMENT)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv build dist demo-output docs/_build

$(LIBRARY): pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -e '.[plots]'
	@touch $@

$(DEVELOPMENT): pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -e '.[dev]'
	@touch $(LIBRARY) $@

$(RELEASE): tests/release/requirements.txt | $(BIN)/python
	$(INSTALL) -r tests/release/requirements.txt
	@touch $@

$(BIN)/python:
	$(PYTHON) -m venv .venv
