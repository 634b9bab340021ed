# The commands for this checkout; `make` alone lists them. Needs GNU make, a POSIX shell and Python, nothing else.
# Everything created here is in .venv, .venv-* and var. Each target installs the Python packages that it needs.
# What measures and breaks the service from outside has a Makefile of its own: `make -C lab`.

PYTHON ?= python3
PYTHON_313 ?= python3.13
HOST ?= 127.0.0.1
PORT ?= 8000
PYTEST_ARGS ?=
LOCK_ARGS ?=
export HOST PORT PYTEST_ARGS

PY := .venv/bin/python
BASE := .venv/installed-base
DEV := .venv/installed-dev
DJANGO61 := .venv-django61/installed
REPORTS := .venv/reports
LEAST_COVERAGE := 93

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help run test test-slow test-all screenshots lint openapi settings clients lock audit sbom release clean
.PHONY: fast-sqlite fast-postgresql coverage left-out slow-sqlite slow-suites slow-postgresql django61 python port always

help:
	@echo 'make run      serve on http://$(HOST):$(PORT); the first run creates a demonstration catalogue and a key'
	@echo '              (set HOST, PORT, DATABASE_URL and other settings in the environment)'
	@echo 'make test     run the fast tests on SQLite and PostgreSQL, in about three minutes'
	@echo '              (PYTEST_ARGS="-k name" runs the tests with that name instead, slow ones too;'
	@echo '              COVERAGE=1 measures what they cover)'
	@echo 'make test-slow'
	@echo '              run the slow tests on SQLite, most of them on PostgreSQL, and the fast ones on Django 6.1'
	@echo 'make test-all run all these tests, with coverage'
	@echo 'make screenshots'
	@echo '              take pictures of the back office and the portal, of a fresh store, into var/screenshots'
	@echo 'make lint     check style, types, layers, templates, JavaScript, migrations, the API description, production settings'
	@echo 'make openapi  regenerate docs/openapi.yaml'
	@echo 'make settings regenerate docs/settings.md'
	@echo 'make clients  build the Python and TypeScript clients into clients/dist (needs node and npm)'
	@echo 'make lock     regenerate requirements/*.txt (LOCK_ARGS=--upgrade for newer versions)'
	@echo 'make audit    check the locked versions for known vulnerabilities (uses the network)'
	@echo 'make sbom     list what the service is made of in the CycloneDX format, in var/sbom'
	@echo 'make release VERSION=1.2.0'
	@echo '              check everything, date the changelog, tag, and write the artefacts into var/release'
	@echo '              (DRY_RUN=1 keeps nothing; CHECKS=lint runs fewer checks)'
	@echo 'make clean    remove everything created here, except var with the development database'
	@echo 'make -C lab   list what measures and breaks the service from outside'

# --- Serving ---------------------------------------------------------------------------------------------------------

run: python port $(BASE)
	@$(PY) manage.py prepare_development --host '$(HOST)' --port '$(PORT)'
	@exec $(PY) -m server --config deploy/gunicorn.conf.py

define PORT_CHECK
import errno, os, socket, sys
host, port = os.environ["HOST"], os.environ["PORT"]
try:
    socket.create_server((host, int(port)), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
except (ValueError, OverflowError):
    sys.exit(f"PORT must be a number from 1 to 65535, not {port!r}.")
except OSError as error:
    if error.errno == errno.EADDRINUSE:
        sys.exit(f"Port {port} of {host} is in use. Stop the program that uses it, or choose another port: make run PORT=8001")
    sys.exit(f"Cannot listen on port {port} of {host}: {os.strerror(error.errno) if error.errno > 0 else error.strerror}.")
endef
export PORT_CHECK

port:
	@$(PYTHON) -c "$$PORT_CHECK"

# --- Installing: once, from a lock, by hash ---------------------------------------------------------------------------

# Every Python since 2.7 can read this.
define PYTHON_CHECK
import sys
if sys.version_info < (3, 11):
    sys.exit("Python %s is too old. Python 3.11 or newer is required: make ... PYTHON=python3.12" % sys.version.split()[0])
endef
export PYTHON_CHECK

python:
	@command -v $(PYTHON) >/dev/null || { echo '$(PYTHON) was not found. Python 3.11 or newer is required: make ... PYTHON=python3.12' >&2; exit 1; }
	@$(PYTHON) -c "$$PYTHON_CHECK"

# install FOLDER PYTHON LOCK
define install
	@$(2) requirements/install.py $(1) $(3) && touch $@
endef

$(BASE): requirements/base.txt | python
	$(call install,.venv,$(PYTHON),requirements/base.txt)

$(DEV): requirements/dev.txt $(BASE)
	$(call install,.venv,$(PYTHON),requirements/dev.txt)

$(DJANGO61): requirements/django61.txt
	$(call install,.venv-django61,$(PYTHON_313),requirements/django61.txt)

ifneq ($(wildcard .venv/unfinished)$(shell $(PY) -c 'import pip; print(1)' 2>/dev/null),1)
$(BASE): always
endif

# --- Testing ---------------------------------------------------------------------------------------------------------

# The tests must never use the store that these variables name.
APART := env -u DATABASE_URL -u DATABASE_URL_FILE -u CACHE_URL -u CACHE_URL_FILE -u PETSTORE_ENVIRONMENT
# Each worker, and each process that a test starts, would compile everything again.
RUN := $(APART) -u PYTHONDONTWRITEBYTECODE
# tests/conftest.py lists the slow tests, and those of them that depend on the database.
FAST = $(if $(PYTEST_ARGS),,-m 'not slow')
ON_POSTGRESQL = $(RUN) $(PY) tests/with_postgresql.py
WITHOUT_POSTGRESQL = { [ $$? -eq 77 ] && ! $(PY) tests/with_postgresql.py true 2>$(REPORTS)/postgresql.txt; }

# parts PART...: run all parts, even if some fail, and list what was left out.
define parts
	@rm -rf $(REPORTS) .coverage .coverage.* && mkdir $(REPORTS)
	@failed=; \
	for part in $(1); do $(MAKE) $$part || failed="$$failed $$part"; done; \
	$(MAKE) left-out || failed="$$failed left-out"; \
	if [ -n "$$failed" ]; then echo "FAILED:$$failed" >&2; exit 1; fi
endef

test: $(DEV)
	$(call parts,fast-sqlite fast-postgresql $(if $(COVERAGE),coverage))
	@[ -n "$$PYTEST_ARGS" ] || cat $(REPORTS)/sqlite.left

test-slow: $(DEV)
	$(call parts,slow-sqlite slow-suites slow-postgresql)

test-all: export COVERAGE := 1
test-all: $(DEV)
	$(call parts,fast-sqlite fast-postgresql coverage $(if $(PYTEST_ARGS),,slow-sqlite slow-suites slow-postgresql))

COVERED = $(if $(COVERAGE),--cov --cov-report= --cov-append)

fast-sqlite:
	@echo '== SQLite'
	@$(RUN) $(PY) -m pytest -n auto $(FAST) $(COVERED) --junit-xml=$(REPORTS)/sqlite.xml $(PYTEST_ARGS)

fast-postgresql:
	@echo '== PostgreSQL'
	@$(ON_POSTGRESQL) $(PY) -m pytest -n auto $(FAST) $(COVERED) --junit-xml=$(REPORTS)/postgresql.xml $(PYTEST_ARGS) \
		|| $(WITHOUT_POSTGRESQL)

# Half of their time they wait: for deadlines, clocks and pauses.
export TWICE := import os; print(2 * os.cpu_count())

slow-sqlite:
	@echo '== SQLite, slow tests'
	@$(MAKE) -C lab patroni || echo 'Left out: Patroni cannot be installed.' >&2
	@$(RUN) $(PY) -m pytest -n $$($(PY) -c "$$TWICE") -m slow $(addprefix --ignore=,$(SUITES)) --junit-xml=$(REPORTS)/slow-sqlite.xml

# It runs all fast tests side by side, twice: others beside them would wait too long for a response.
SUITES := tests/test_examples.py

slow-suites: django61
	@echo '== The fast tests with the examples, on other days, and on Django 6.1'
	@$(RUN) $(PY) -m pytest -n 2 -m slow $(SUITES) --junit-xml=$(REPORTS)/slow-suites.xml

slow-postgresql:
	@echo '== PostgreSQL, slow tests that depend on the database'
	@$(ON_POSTGRESQL) $(PY) -m pytest -n $$($(PY) -c "$$TWICE") -m each_database --junit-xml=$(REPORTS)/slow-postgresql.xml \
		|| $(WITHOUT_POSTGRESQL)

coverage:
	@echo '== Coverage'
	@if [ -n "$$PYTEST_ARGS" ]; then \
		echo 'the minimum coverage (PYTEST_ARGS selects tests)' >$(REPORTS)/coverage.txt; \
	elif [ -e $(REPORTS)/postgresql.txt ]; then \
		echo 'the minimum coverage (no initdb: it needs both databases)' >$(REPORTS)/coverage.txt; \
		$(PY) -m coverage report; \
	else \
		$(PY) -m coverage report --fail-under=$(LEAST_COVERAGE); \
	fi

# The `python3.13` of pyenv fails while another version is selected. Then this uses the newest 3.13 of pyenv.
django61:
	@for python in $(PYTHON_313) $(lastword $(wildcard $(shell pyenv root 2>/dev/null)/versions/3.13.*/bin/python)); do \
		if $$python -c 'import ensurepip, venv' >/dev/null 2>&1; then exec $(MAKE) PYTHON_313=$$python $(DJANGO61); fi; \
	done; \
	echo 'Django 6.1 (no working $(PYTHON_313); set it: make test-slow PYTHON_313=/path)' >$(REPORTS)/django61.txt

left-out:
	@printf '\n== Left out\n'
	@$(PY) -c "$$LEFT_OUT" $(REPORTS)

# A test is left out if no part ran it. Where CI=true, WITHOUT=nginx,promtool names all that may be missing.
define LEFT_OUT
import os, sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree
ran, skipped = set(), {}
for report in Path(sys.argv[1]).glob("*.xml"):
    for case in ElementTree.parse(report).iter("testcase"):
        name, skip = (case.get("classname"), case.get("name")), case.find("skipped")
        if skip is None:
            ran.add(name)
        elif "only on the other database" not in (message := skip.get("message")):
            skipped[name] = message.removeprefix("Skipped: ")
reasons = Counter(reason for name, reason in skipped.items() if name not in ran)
lines = [line for note in sorted(Path(sys.argv[1]).glob("*.txt")) for line in note.read_text().splitlines()]
lines += [f"{count} tests ({reason})" for reason, count in sorted(reasons.items())]
print("\n".join(lines) or "nothing", flush=True)
named = [name for name in os.environ.get("WITHOUT", "").split(",") if name]
if os.environ.get("CI") == "true" and not all(any(name in line for name in named) for line in lines):
    sys.exit("More was left out than WITHOUT names.")
endef
export LEFT_OUT

screenshots: $(DEV)
	@$(APART) $(PY) -m tests.e2e.pictures

# --- Checking --------------------------------------------------------------------------------------------------------

SPECTACULAR := manage.py spectacular --validate --fail-on-warn --file
DEVELOPMENT = env -u PRODUCTION_URL -u STAGING_URL $(APART) DATABASE_URL="sqlite:///$$tmp/lint.sqlite3"
PRODUCTION := $(APART) PETSTORE_ENVIRONMENT=production ALLOWED_HOSTS=petstore.example \
	DATABASE_URL=postgres://petstore@database.invalid/petstore CACHE_URL=redis://127.0.0.1:6379/0
IN_FOLDER := tmp=$$(mktemp -d) && trap 'rm -rf "$$tmp"' EXIT

lint: $(DEV)
	@echo '== ruff check'
	@$(PY) -m ruff check --quiet .
	@echo '== ruff format'
	@$(PY) -m ruff format --check --quiet .
	@echo '== mypy'
	@$(APART) $(PY) -m mypy .
	@echo '== import-linter'
	@.venv/bin/python -c 'from importlinter.cli import lint_imports_command; lint_imports_command()'
	@echo '== djlint'
	@$(PY) -m djlint --lint --quiet templates
	@echo '== biome'
	@if command -v npm >/dev/null; then $(MAKE) $(BIOME) && $(dir $(BIOME)).bin/biome lint --error-on-warnings .; \
		else echo 'Left out: the JavaScript, which needs node and npm.'; fi
	@echo '== words'
	@$(PY) tests/words.py
	@echo '== migrations'
	@$(IN_FOLDER) && $(DEVELOPMENT) $(PY) manage.py makemigrations --check --dry-run
	@echo '== safe migrations'
	@$(APART) $(PY) tests/safe_migrations.py
	@echo '== the API description'
	@$(IN_FOLDER) && $(DEVELOPMENT) $(PY) $(SPECTACULAR) "$$tmp/openapi.yaml" && \
		{ diff -u docs/openapi.yaml "$$tmp/openapi.yaml" || { echo 'docs/openapi.yaml is out of date. Run: make openapi' >&2; exit 1; }; }
	@echo '== production settings'
	@$(IN_FOLDER) && export STATIC_ROOT="$$tmp" SECRET_KEY=$$($(PY) -c 'import secrets; print(secrets.token_urlsafe(64))') && \
		$(PRODUCTION) $(PY) manage.py collectstatic --no-input --verbosity 0 && \
		$(PRODUCTION) $(PY) manage.py check --deploy --fail-level WARNING

BIOME := requirements/javascript/node_modules/installed

$(BIOME): requirements/javascript/package-lock.json
	@npm ci --prefix $(<D) --ignore-scripts --no-audit --no-fund --silent && touch $@

openapi: $(DEV)
	@$(IN_FOLDER) && $(DEVELOPMENT) $(PY) $(SPECTACULAR) docs/openapi.yaml

settings: $(BASE)
	@$(PY) -m tests.settings_page >docs/settings.md

clients: python
	@$(PYTHON) -m clients.build

# --- Locking ---------------------------------------------------------------------------------------------------------

COMPILE := "$$tmp/bin/uv" pip compile --quiet --universal --generate-hashes --custom-compile-command 'make lock' $(LOCK_ARGS)

lock: python
	@$(IN_FOLDER) && $(PYTHON) -m venv "$$tmp" && "$$tmp/bin/python" -m pip install --quiet uv && cd requirements && \
		$(COMPILE) --python-version 3.11 base.in -o base.txt && \
		$(COMPILE) --python-version 3.11 -c base.txt dev.in -o dev.txt && \
		$(COMPILE) --python-version 3.11 -c dev.txt opentelemetry.in -o opentelemetry.txt && \
		$(COMPILE) --python-version 3.11 -c dev.txt clients.in -o clients.txt && \
		$(COMPILE) --python-version 3.13 --override django61.in dev.in -o django61.txt

LOCKS ?= $(wildcard requirements/*.txt */requirements/*.txt)
PIP_AUDIT := $(PY) -m pip_audit --strict --require-hashes --disable-pip --progress-spinner off

# With --strict, a version that could not be checked is an error too.
audit: $(DEV)
	@status=0; for lock in $(LOCKS); do echo "$$lock"; $(PIP_AUDIT) --requirement "$$lock" $(AUDIT_ARGS) || status=1; done; exit $$status

CHECKS ?= lint test-all

release: $(DEV)
	@$(PY) -m deploy.release '$(VERSION)' $(if $(DRY_RUN),--dry-run) --checks '$(CHECKS)'

# The extra has a file of its own.
SBOM := var/sbom

sbom: $(DEV)
	@mkdir -p $(SBOM)
	@for lock in base opentelemetry; do \
		$(PY) -W ignore -m cyclonedx_py requirements requirements/$$lock.txt --pyproject pyproject.toml \
			--output-reproducible --output-file $(SBOM)/$$lock.cdx.json || exit; \
	done
	@echo 'The software bill of materials is in $(SBOM).'

clean:
	rm -rf .venv .venv-* clients/dist clients/typescript/node_modules requirements/javascript/node_modules staticfiles .coverage .coverage.* .hypothesis .import_linter_cache \
		.mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	@$(MAKE) -C lab clean
