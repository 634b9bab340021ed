# The commands for this checkout; `make` alone lists them. Needs GNU make, a POSIX shell and Python, nothing else.
# Everything created here is in .venv, .venv-*, mutants and var. Each target installs the Python packages that it needs.

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
BENCHMARKS := .venv-benchmarks/installed
MUTANTS := .venv-mutants/installed
REHEARSALS := .venv-rehearsals/installed
REPORTS := .venv/reports
LEAST_COVERAGE := 93

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: release help run test test-all test-nightly e2e screenshots pictures fuzz chaos rehearse matrix mutants bench bench-report bench-import lint words openapi settings clients lock audit sbom clean
.PHONY: fast-sqlite fast-postgresql covered-sqlite covered-postgresql slow-sqlite slow-postgresql coverage django61 explore-sqlite explore-postgresql
.PHONY: python port always

help:
	@echo 'make run      serve on http://$(HOST):$(PORT); the first run creates a demonstration catalogue and a key'
	@echo '              (set HOST, PORT, DATABASE_URL and other settings in the environment)'
	@echo 'make test     run the fast tests on SQLite and PostgreSQL, in less than five minutes'
	@echo '              (PYTEST_ARGS="-k name" runs the tests with that name instead, slow ones too)'
	@echo 'make test-all run all tests on SQLite, most of them on PostgreSQL, the fast ones with coverage, and on Django 6.1'
	@echo 'make test-nightly'
	@echo '              search for bugs with many more examples, kills and requests, and with mutants'
	@echo 'make e2e      run only the browser tests'
	@echo 'make screenshots'
	@echo '              take the pictures of the back office, of a fresh store, into docs/images'
	@echo 'make pictures draw the badges and the architecture of README into docs/images'
	@echo 'make fuzz     test a new service against its description (FUZZ_ARGS="--cases 100000 --base URL --key KEY")'
	@echo 'make chaos    break what the service depends on, and look whether it keeps its promises (as root; CHAOS=long:'
	@echo '              as often as docs/reliability.md promises; CHAOS_ARGS="stopped network_cut": only these)'
	@echo 'make rehearse follow the chapters of docs/operators-book.md under load (as root, with etcd and HAProxy;'
	@echo '              CHAPTERS="replace_node lose_quorum": only these)'
	@echo 'make matrix   run the fast tests with each Python and Django that is here, and write the table of docs/versions.md'
	@echo '              (MATRIX_ARGS="--only 3.12/5.2 --database SQLite")'
	@echo 'make mutants  change the code in many places, one at a time, and list the changes that no test notices'
	@echo 'make bench    compare the API with what other frameworks take (BENCH_ARGS="--rounds 2")'
	@echo 'make bench-report'
	@echo '              fill docs/lab/performance.md with the figures of the last make bench'
	@echo 'make bench-import'
	@echo '              measure the import beside psql and fill docs/importing.md (BENCH_ARGS="--rows 20000 --rounds 1")'
	@echo 'make lint     check style, types, layers, templates, migrations, the API description, production settings'
	@echo 'make words    list the words that the house style avoids'
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

# --- Serving ---------------------------------------------------------------------------------------------------------

run: python port $(BASE)
	@$(PY) manage.py prepare_development --host '$(HOST)' --port '$(PORT)'
	@exec $(PY) -m gunicorn --config deploy/gunicorn.conf.py

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

define PYTHON_CHECK
import sys
if sys.version_info < (3, 11):
    sys.exit("$(PYTHON) is Python %d.%d. Python 3.11 or newer is required: make … PYTHON=python3.12" % sys.version_info[:2])
try:
    import ensurepip, venv
except ImportError:
    sys.exit("$(PYTHON) has no venv. On Debian, run: apt-get install python3-venv")
endef
export PYTHON_CHECK

python:
	@command -v $(PYTHON) >/dev/null || { echo '$(PYTHON) was not found. Python 3.11 or newer is required: make … PYTHON=python3.12' >&2; exit 1; }
	@$(PYTHON) -c "$$PYTHON_CHECK"

# Say how far pip is: a line for each package that it downloads. Then it installs them all at once.
define INSTALL
import re, subprocess, sys
folder, lock = sys.argv[1:]
total = len(re.findall("^[a-z]", open(lock, encoding="utf-8").read(), re.MULTILINE))
print(f"Installing the {total} packages of {lock} into {folder}. This is needed only once.", flush=True)
command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar=off", "--no-deps", "--require-hashes", "-r", lock]
pip = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
done = 0
for line in pip.stdout:
    if found := re.match(r"(?:Collecting|Processing|Ignoring|Requirement already satisfied:) (?:\S*/)?([\w.-]+)", line):
        done += 1
        print(f"  {done} of {total}: {found[1]}", flush=True)
    elif line.startswith("Installing collected packages"):
        print("  Downloaded. Installing …", flush=True)
sys.exit(pip.wait())
endef
export INSTALL

# install FOLDER PYTHON LOCK: start over after an interrupted install, or if its Python is gone.
# `unfinished` has the process ID of the make that installs.
define install
	@if [ -e $(1)/unfinished ] && kill -0 "$$(cat $(1)/unfinished)" 2>/dev/null; then \
		echo 'Another make is installing into $(1). Wait for it, or remove $(1).' >&2; exit 1; \
	fi
	@if [ -e $(1)/unfinished ] || ! $(1)/bin/python -c 'import pip' 2>/dev/null; then rm -rf $(1); fi
	@mkdir -p $(1) && echo $$PPID >$(1)/unfinished
	@[ -e $(1)/bin/python ] || $(2) -m venv $(1)
	@$(1)/bin/python -c "$$INSTALL" $(1) requirements/$(3).txt
	@rm $(1)/unfinished && touch $@
endef

$(BASE): requirements/base.txt | python
	$(call install,.venv,$(PYTHON),base)

$(DEV): requirements/dev.txt $(BASE)
	$(call install,.venv,$(PYTHON),dev)

$(DJANGO61): requirements/django61.txt
	$(call install,.venv-django61,$(PYTHON_313),django61)

$(BENCHMARKS): requirements/benchmarks.txt
	$(call install,.venv-benchmarks,$(PYTHON),benchmarks)

$(MUTANTS): requirements/mutants.txt
	$(call install,.venv-mutants,$(PYTHON),mutants)

# A Python that the account `postgres` can run too.
$(REHEARSALS): requirements/rehearsals.txt
	$(call install,.venv-rehearsals,/usr/bin/python3,rehearsals)

ifneq ($(wildcard .venv/unfinished)$(shell $(PY) -c 'import pip; print(1)' 2>/dev/null),1)
$(BASE): always
endif

# --- Testing ---------------------------------------------------------------------------------------------------------

# The tests must never use the store that these variables name.
APART := env -u DATABASE_URL -u DATABASE_URL_FILE -u CACHE_URL -u CACHE_URL_FILE -u PETSTORE_ENVIRONMENT
COVERAGE :=
# tests/conftest.py lists the slow tests, and those of them that depend on the database.
FAST = $(if $(PYTEST_ARGS),,-m 'not slow')
SLOW = $(if $(PYTEST_ARGS),,slow-$(1))
ON_POSTGRESQL = $(APART) $(PY) tests/with_postgresql.py
WITHOUT_POSTGRESQL = { [ $$? -eq 77 ] && ! $(PY) tests/with_postgresql.py true 2>$(REPORTS)/postgresql.txt; }

# parts PART...: run all parts, even if some fail, and list what was left out.
define parts
	@rm -rf $(REPORTS) && mkdir $(REPORTS)
	@failed=; \
	for part in $(1); do $(MAKE) $$part || failed="$$failed $$part"; done; \
	printf '\n== Left out\n'; \
	$(PY) -c "$$LEFT_OUT" $(REPORTS); \
	if [ -n "$$failed" ]; then echo "FAILED:$$failed" >&2; exit 1; fi
endef

test: $(DEV)
	$(call parts,fast-sqlite fast-postgresql)
	@[ -n "$$PYTEST_ARGS" ] || cat $(REPORTS)/sqlite.left

test-all: $(DEV)
	@rm -f .coverage .coverage.*
	$(call parts,covered-sqlite covered-postgresql coverage $(call SLOW,sqlite) $(call SLOW,postgresql) django61)

test-nightly: $(DEV)
	$(call parts,explore-sqlite explore-postgresql fuzz mutants)

covered-sqlite covered-postgresql: COVERAGE := --cov --cov-report= --cov-append

fast-sqlite covered-sqlite:
	@echo '== SQLite'
	@$(APART) $(PY) -m pytest -n auto $(FAST) $(COVERAGE) --junit-xml=$(REPORTS)/sqlite.xml $(PYTEST_ARGS)

fast-postgresql covered-postgresql:
	@echo '== PostgreSQL'
	@$(ON_POSTGRESQL) $(PY) -m pytest -n auto $(FAST) $(COVERAGE) --junit-xml=$(REPORTS)/postgresql.xml $(PYTEST_ARGS) \
		|| $(WITHOUT_POSTGRESQL)

slow-sqlite:
	@echo '== SQLite, slow tests'
	@$(MAKE) $(REHEARSALS) || echo 'Left out: Patroni cannot be installed.' >&2
	@$(APART) $(PY) -m pytest -n auto -m slow --junit-xml=$(REPORTS)/slow-sqlite.xml

slow-postgresql:
	@echo '== PostgreSQL, slow tests that depend on the database'
	@$(ON_POSTGRESQL) $(PY) -m pytest -n auto -m each_database --junit-xml=$(REPORTS)/slow-postgresql.xml \
		|| $(WITHOUT_POSTGRESQL)

coverage:
	@echo '== Coverage'
	@if [ -n "$$PYTEST_ARGS" ]; then \
		echo 'the minimum coverage (PYTEST_ARGS selects tests)' >$(REPORTS)/coverage.txt; \
	elif [ -e $(REPORTS)/postgresql.txt ]; then \
		echo 'the minimum coverage (it needs both databases)' >$(REPORTS)/coverage.txt; \
		$(PY) -m coverage report; \
	else \
		$(PY) -m coverage report --fail-under=$(LEAST_COVERAGE); \
	fi

# The `python3.13` of pyenv fails while another version is selected. Then this uses the newest 3.13 of pyenv.
django61:
	@echo '== Django 6.1'
	@for python in $(PYTHON_313) $(lastword $(wildcard $(shell pyenv root 2>/dev/null)/versions/3.13.*/bin/python)); do \
		if $$python -c 'import ensurepip, venv' >/dev/null 2>&1; then \
			$(MAKE) PYTHON_313=$$python $(DJANGO61) && \
			$(APART) .venv-django61/bin/python -m pytest -n auto $(FAST) --junit-xml=$(REPORTS)/django61.xml $(PYTEST_ARGS); \
			exit; \
		fi; \
	done; \
	echo 'Django 6.1 (no working $(PYTHON_313); set it: make test-all PYTHON_313=/path)' >$(REPORTS)/django61.txt

EXPLORE := HYPOTHESIS_PROFILE=explore
EXPLORING := -o faulthandler_timeout=0 tests/properties tests/contract tests/pets/importing/test_runs.py

explore-sqlite:
	@echo '== SQLite, many examples'
	@$(EXPLORE) $(APART) $(PY) -m pytest -n auto --junit-xml=$(REPORTS)/sqlite.xml $(EXPLORING) $(PYTEST_ARGS)

explore-postgresql:
	@echo '== PostgreSQL, many examples'
	@$(EXPLORE) $(ON_POSTGRESQL) $(PY) -m pytest -n auto --junit-xml=$(REPORTS)/postgresql.xml $(EXPLORING) $(PYTEST_ARGS) \
		|| $(WITHOUT_POSTGRESQL)

# A test is left out if no part ran it.
define LEFT_OUT
import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree
ran, skipped = set(), {}
for report in Path(sys.argv[1]).glob("*.xml"):
    for case in ElementTree.parse(report).iter("testcase"):
        name, skip = (case.get("classname"), case.get("name")), case.find("skipped")
        if skip is None:
            ran.add(name)
        else:
            skipped[name] = skip.get("message").removeprefix("Skipped: ")
reasons = Counter(reason for name, reason in skipped.items() if name not in ran)
lines = [line for note in sorted(Path(sys.argv[1]).glob("*.txt")) for line in note.read_text().splitlines()]
lines += [f"{count} tests ({reason})" for reason, count in sorted(reasons.items())]
print("\n".join(lines) or "nothing")
endef
export LEFT_OUT

e2e: $(DEV)
	@$(APART) $(PY) -m pytest tests/e2e $(PYTEST_ARGS)

screenshots: $(DEV)
	@$(APART) $(PY) -m tests.e2e.pictures

pictures: $(DEV)
	@$(PY) -m publishing.pictures

fuzz: $(DEV)
	@$(APART) $(PY) -m tests.contract.fuzz $(FUZZ_ARGS)

chaos: $(DEV)
	@$(APART) $(PY) -m tests.chaos $(if $(filter long,$(CHAOS)),--long) $(CHAOS_ARGS)

rehearse: $(DEV) $(REHEARSALS)
	@PATH="$$PWD/.venv-rehearsals/bin:$$PATH" $(APART) $(PY) -m tests.rehearsals $(CHAPTERS)

matrix: $(DEV)
	@$(APART) $(PY) -m tests.matrix $(MATRIX_ARGS)

# The sample is the same in each run: the seventh mutant of each function, some 350 of 8,700.
MUTANTS_OF := '*__mutmut_7'
LEAST_KILLED := 92

define KILLED
import sys
from collections import Counter
mutants = dict(line.strip().split(": ") for line in sys.stdin)
print(*(f"{name}: {end}" for name, end in mutants.items() if end in ("survived", "no tests", "suspicious")), sep="\n")
ends = Counter(mutants.values())
by_types = ends["caught by type check"]
killed = by_types + ends["killed"] + ends["timeout"] + ends["segfault"]
tried = killed + ends["survived"] + ends["no tests"] + ends["suspicious"]
print(f"{killed} of {tried} mutants killed, {by_types} of them by the type check: "
      f"{100 * killed / tried:.1f} % (at least $(LEAST_KILLED) % is required)")
raise SystemExit(100 * killed < $(LEAST_KILLED) * tried)
endef
export KILLED

mutants: $(DEV) $(MUTANTS)
	@echo '== Mutants'
	@rm -rf mutants .venv-mutants/test.sqlite3
	@$(APART) DATABASE_URL=sqlite:///.venv-mutants/test.sqlite3 $(PY) manage.py migrate -v0
	@$(APART) PETSTORE_TEST_DATABASE="$$PWD/.venv-mutants/test.sqlite3" \
		.venv-mutants/bin/mutmut run $(MUTANTS_OF) >.venv-mutants/log 2>&1 || { tail -20 .venv-mutants/log >&2; exit 1; }
	@.venv-mutants/bin/mutmut results --all true | $(PY) -c "$$KILLED"

# --- Measuring -------------------------------------------------------------------------------------------------------

FASTIFY := benchmarks/peers/fastify/node_modules

$(FASTIFY): benchmarks/peers/fastify/package-lock.json
	@npm ci --prefix $(@D) --ignore-scripts --no-audit --no-fund --silent && touch $@

bench: $(DEV)
	@$(MAKE) $(BENCHMARKS) || echo 'Left out: the peers in Python cannot be installed.' >&2
	@$(MAKE) $(FASTIFY) || echo 'Left out: Fastify cannot be installed.' >&2
	@$(APART) $(PY) tests/with_postgresql.py $(PY) -m benchmarks.requests $(BENCH_ARGS)

bench-report: $(DEV)
	@$(PY) -m benchmarks.report

bench-import: $(DEV)
	@case '$(BENCH_ARGS)' in *--alternatives*) \
		$(MAKE) $(BENCHMARKS) || echo 'Left out: django-import-export cannot be installed.' >&2 ;; esac
	@$(APART) $(PY) tests/with_postgresql.py $(PY) -m benchmarks.imports $(BENCH_ARGS)

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

words: $(DEV)
	@$(PY) tests/words.py

openapi: $(DEV)
	@$(IN_FOLDER) && $(DEVELOPMENT) $(PY) $(SPECTACULAR) docs/openapi.yaml

settings: $(BASE)
	@$(PY) -m petstore_site.configuration.variables >docs/settings.md

clients: python
	@$(PYTHON) -m clients.build

# --- Locking ---------------------------------------------------------------------------------------------------------

COMPILE := "$$tmp/bin/uv" pip compile --quiet --universal --generate-hashes --custom-compile-command 'make lock' $(LOCK_ARGS)

lock: python
	@$(IN_FOLDER) && $(PYTHON) -m venv "$$tmp" && "$$tmp/bin/python" -m pip install --quiet uv && cd requirements && \
		$(COMPILE) --python-version 3.11 base.in -o base.txt && \
		$(COMPILE) --python-version 3.11 -c base.txt dev.in -o dev.txt && \
		$(COMPILE) --python-version 3.11 -c dev.txt opentelemetry.in -o opentelemetry.txt && \
		$(COMPILE) --python-version 3.11 -c dev.txt sentry.in -o sentry.txt && \
		$(COMPILE) --python-version 3.11 -c dev.txt clients.in -o clients.txt && \
		$(COMPILE) --python-version 3.11 -c dev.txt generators.in -o generators.txt && \
		$(COMPILE) --python-version 3.11 -c base.txt benchmarks.in -o benchmarks.txt && \
		$(COMPILE) --python-version 3.11 -c dev.txt mutants.in -o mutants.txt && \
		$(COMPILE) --python-version 3.11 rehearsals.in -o rehearsals.txt && \
		$(COMPILE) --python-version 3.13 --override django61.in dev.in -o django61.txt

audit: $(DEV)
	@$(PY) tests/audit.py $(AUDIT_ARGS)

CHECKS ?= lint test-all

release: $(DEV)
	@$(PY) -m publishing.release '$(VERSION)' $(if $(DRY_RUN),--dry-run) --checks '$(CHECKS)'

# The extras have files of their own.
SBOM := var/sbom

sbom: $(DEV)
	@mkdir -p $(SBOM)
	@for lock in base opentelemetry sentry; do \
		$(PY) -W ignore -m cyclonedx_py requirements requirements/$$lock.txt --pyproject pyproject.toml \
			--output-reproducible --output-file $(SBOM)/$$lock.cdx.json || exit; \
	done
	@echo 'The software bill of materials is in $(SBOM).'

clean:
	rm -rf .venv .venv-* mutants clients/dist clients/typescript/node_modules tests/generators/node_modules $(FASTIFY) staticfiles .coverage .coverage.* .hypothesis .import_linter_cache \
		.mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
