# `make demo` and `make test` work from a fresh clone with Python 3.11 or newer, make and git.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed

.PHONY: demo test browser pictures integrations lint bench docs format clean

demo: $(INSTALLED)
	$(BIN)/python examples/newsvendor.py

test: $(INSTALLED) browser
	$(BIN)/python -m pytest -n auto -rs

# The page is tested in a real browser. Where Chromium cannot be had, pytest names the tests that it leaves out.
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "installing Chromium for the tests of the page"; \
	  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium; } \
	    >/dev/null 2>&1 || echo "Chromium could not be installed"; \
	else echo "no Chromium, and no right to install it: tests in a browser are left out"; fi

pictures: $(INSTALLED) browser
	$(BIN)/python docs/pictures.py
	$(BIN)/python docs/screenshots.py

# Each in an environment of its own, with that tool and nothing else: some minutes.
integrations:
	$(PYTHON) tests/integrations/clean_environments.py

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(INSTALLED)
	$(BIN)/python -m benchmarks

docs: $(INSTALLED)
	$(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv build dist demo-output docs/_build

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@
