# Set-up, findings and tests. Everything lands in .venv, .runtimes, build and data of this folder.

PYTHON  ?= python3
PROFILE ?= quick
JOBS    ?= $(shell getconf _NPROCESSORS_ONLN)

BIN := .venv/bin

# Hundreds of short processes import the same modules: their bytecode is kept, whatever the environment says.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help prerequisites watched setup findings shipped readme paper lab clean test \
        test-style test-types test-notebooks test-java test-native test-python

help:
	@echo 'make findings   set up, run the studies, make the site  (PROFILE=$(PROFILE): smoke, quick, standard, article)'
	@echo '                quick takes MINUTES=20 in all, set-up apart; more go on from there'
	@echo 'make test       set up, then the tests of Python, Java, C++ and the notebooks'
	@echo 'make test-long  what takes longer: fleets, every kill, fuzz seed and notebook, TSan and jcstress'
	@echo 'make shipped    set up, then the pages of the shipped results, without a trial'
	@echo 'make readme     set up, then the answer and the picture of the README from the shipped results'
	@echo 'make paper      set up, then figures and text of paper/ from the shipped results, as HTML and PDF in build/paper'
	@echo 'make lab        set up, then open the notebooks in JupyterLab'
	@echo 'make setup      .venv, Java runtimes and builds, without running anything'
	@echo 'make bench-NAME set up, then measure a part of the instrument: allocpool bench NAME'
	@echo 'make clean      delete what set-up made; measured data stays'

prerequisites:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo 'missing: Python 3.11 or newer: install it, or name it: make PYTHON=/path/to/python3' >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo 'missing: the venv module of $(PYTHON): install python3-venv (Debian)' >&2; exit 1; }
	@PYTHONPATH=src $(PYTHON) -m allocpool.prerequisites

# What make has started ends with it, also when make alone is interrupted or killed.
watched:
	@[ '$(MAKELEVEL)' != 0 ] || \
	  { PYTHONPATH=src $(PYTHON) -m allocpool.machine.guard $$PPID </dev/null >/dev/null 2>&1 & }

# Modules are compiled as they are imported: most never are.
.venv/.installed: requirements.lock pyproject.toml
	@$(MAKE) --no-print-directory prerequisites
	@echo 'Installing the locked Python packages into .venv (about a minute)'
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --no-deps --only-binary :all: \
	  --require-hashes --requirement requirements.lock || \
	  { echo 'missing: Python packages, as pip says above; where it reaches no index: connect, or name a mirror with' \
	    'PIP_INDEX_URL; then the same command goes on' >&2; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-index \
	  --no-build-isolation --editable .
	@touch $@

# Fetching runtimes and compiling need no package, so they go on while these are installed. Then both look again at what
# is there, and say it.
setup: watched
	@[ -e .venv/.installed ] || { PYTHONPATH=src $(PYTHON) -m allocpool.runtimes && \
	  PYTHONPATH=src $(PYTHON) -m allocpool.compile; } >/dev/null 2>&1 & before=$$!; \
	  $(MAKE) --no-print-directory .venv/.installed; installed=$$?; wait $$before; exit $$installed
	@$(BIN)/python -m allocpool.runtimes & runtimes=$$!; \
	  $(BIN)/python -m allocpool.compile; built=$$?; wait $$runtimes && [ $$built -eq 0 ]

# These two watch make themselves, so that a campaign ends in order.
findings: setup
	@exec env ALLOCPOOL_MAKE=$$PPID $(BIN)/allocpool findings --profile $(PROFILE) $(if $(MINUTES),--minutes '$(MINUTES)')

shipped: watched .venv/.installed
	@$(BIN)/allocpool site --profile article --execute
	@$(BIN)/allocpool site --profile standard --execute

readme: watched .venv/.installed
	@ALLOCPOOL_DATA=build/readme $(BIN)/python -m allocpool.readme

# Pandoc and Typst, which only the paper needs, are apart from .venv.
build/paper/.installed: paper/requirements.lock .venv/.installed
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
	  --upgrade --target build/paper/tools --requirement paper/requirements.lock || \
	  { echo 'missing: pandoc and typst of paper/requirements.lock, as pip says above' >&2; exit 1; }
	@touch $@

paper: watched .venv/.installed build/paper/.installed
	@ALLOCPOOL_DATA=build/readme $(BIN)/papermill --log-level ERROR --no-progress-bar paper/figures.ipynb \
	  build/paper/figures.ipynb
	@cp paper/paper.* paper/*.svg build/paper
	@cd build/paper && pandoc=tools/pypandoc/files/pandoc && common='paper.md --citeproc --standalone' && \
	  $$pandoc $$common --embed-resources --variable maxwidth=48em --output paper.html && \
	  $$pandoc $$common --variable fontsize=9pt --variable papersize=a4 \
	    --variable header-includes='#set table(inset: 3pt)' --output paper.typ && \
	  PYTHONPATH=tools ../../$(BIN)/python -c 'import typst; typst.compile("paper.typ", output="paper.pdf")' && \
	  echo "$$PWD/paper.html $$PWD/paper.pdf"

lab: watched setup
	@$(BIN)/jupyter lab $$([ "$$(id -u)" != 0 ] || echo --allow-root) notebooks

bench-%: setup
	@exec env ALLOCPOOL_MAKE=$$PPID $(BIN)/allocpool bench $*

# Every part runs, whatever the others say; the output ends with pytest's summary, or with the parts that failed.
# Types take one processor for as long as Java and C++ seldom take all: they go on beside these, and are told after them.
test: watched setup
	@mkdir -p build
	@failed=; part() { $(MAKE) --no-print-directory test-$$1; }; \
	part types >build/test-types.log 2>&1 & types=$$!; \
	for part in style notebooks java native; do part $$part || failed="$$failed $$part"; done; \
	wait $$types || failed="$$failed types"; cat build/test-types.log; \
	part python || failed="$$failed python"; \
	[ -z "$$failed" ] || { echo "failed:$$failed" >&2; exit 1; }

# Before a release: what the first tier samples or leaves out.
test-long: setup
	@failed=; for part in jcstress tsan python-long; do \
	  $(MAKE) --no-print-directory test-$$part || failed="$$failed $$part"; done; \
	[ -z "$$failed" ] || { echo "failed:$$failed" >&2; exit 1; }

test-style: .venv/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

test-types: .venv/.installed
	$(BIN)/mypy

test-notebooks: .venv/.installed
	$(BIN)/nbstripout --verify --keep-id notebooks/*.ipynb paper/*.ipynb

# Nothing is timed: a JVM of tests spends most of what it takes on its second compiler. What runs on the ring in trials
# is compiled by both. Bytecode is that of javac and of releases: a sixth of a short JVM is verifying it. From JDK 26 on a
# heap begins so small that a test of where packets lie would be collected in its midst.
MAVEN = JAVA_HOME="$$($(BIN)/python -c 'from allocpool.runtimes.discovery import find_javac; print(find_javac().home)')" \
  mvn --batch-mode --threads $(JOBS) --file workloads/pom.xml \
  -DargLine='-Xms256m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions \
  -XX:-BytecodeVerificationRemote'

test-java: .venv/.installed
	$(MAVEN) --projects '!threads-jcstress' verify

test-jcstress: .venv/.installed
	$(MAVEN) --projects threads-jcstress --also-make -Dtest=StressTest -Dsurefire.failIfNoSpecifiedTests=false verify

build_native_tests = mkdir -p build && \
  settings="$$($(BIN)/python -c 'import shlex; from allocpool.compile import settings_of_tests as settings; \
    print(shlex.join(settings()))')" && \
  eval "cmake -S native -B build/test-native -DALLOCPOOL_TESTS=ON $$settings" >build/test-native.log && \
  { cmake --build build/test-native --parallel $(JOBS) --target $(1) >>build/test-native.log || \
    { tail -n 30 build/test-native.log; exit 1; }; }
run_native_tests = ctest --test-dir build/test-native --parallel $(JOBS) --progress --output-on-failure
OF_TSAN := '_thread(_NOT_BUILT)?$$|^thread\.'

# As trials run it, with their very objects, and under each family of sanitizers, which exclude each other: here that of
# ASan and UBSan.
test-native: .venv/.installed
	$(call build_native_tests,native_tests)
	$(run_native_tests) --exclude-regex $(OF_TSAN)

test-tsan: .venv/.installed
	$(call build_native_tests,tsan_tests)
	$(run_native_tests) --tests-regex $(OF_TSAN)

# Neighbours to one process as long as the others have work: what a file sets up once mostly stays set up once.
# One process more than there are processors: tests of processes that are killed mostly wait.
PYTEST = $(BIN)/pytest --numprocesses $$(( $(JOBS) + 1 )) --maxprocesses 4 --dist worksteal --durations 25

test-python: .venv/.installed
	$(PYTEST)

test-python-long: .venv/.installed
	$(PYTEST) -m long

clean:
	rm -rf .venv .runtimes build .mypy_cache .ruff_cache .pytest_cache workloads/*/target native/build
