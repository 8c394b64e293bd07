# flightcache: build, run, test, measure. `make help` lists the targets.
#
# Nothing is installed outside this folder: binaries go to bin/, tools to .tools/, the Python environment to .venv/,
# generated tables, stamps and the environments of the Python package to .cache/. Every one of them may be deleted at any time (`make clean`).

SHELL       := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS   += --no-builtin-rules

GO        ?= go
MVN       ?= mvn
CARGO     ?= cargo
PYTHON    ?= $(shell command -v python3.11 || command -v python3)
FUZZTIME  ?= 60s
ADDRESS   ?= grpc://127.0.0.1:8815
TESTFLAGS ?=
BENCHFLAGS ?=

VENV   := .venv
VENVPY := $(VENV)/bin/python
# An environment for each version of Spark: make test-spark SPARK=4.0.1
SPARK      ?= 4.3.0
SPARK_VENV := .cache/spark-$(SPARK)
TOOLS  := $(CURDIR)/.tools

# The packages that `check` tests. What starts a built server belongs to `integration` and `bench`.
PACKAGES = $$($(GO) list ./... | grep -v -e /integration -e /bench)

# Of these the race detector has nothing to say: they and what they use of ours start no goroutine, share nothing between goroutines,
# and have no pointer arithmetic, which its builds check too. racelist_test.go holds this against their source.
SEQUENTIAL := arrowipc descriptors flight/arrowstats predicate predicate/substrait
RACED = $$($(GO) list ./... | grep -v -e /integration -e /bench $(SEQUENTIAL:%=-e '/flightcache/%$$'))

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

## Building and running

.PHONY: build
build: ## build bin/flightcache
	$(GO) build -o bin/flightcache ./cmd/flightcache

.PHONY: run
run: build ## serve on the default address, in the foreground
	bin/flightcache serve --listen $(ADDRESS)

.PHONY: example
example: $(VENV)/.ready ## run the README's example against the server that `make run` started
	$(VENVPY) examples/quickstart.py --address $(ADDRESS)

.PHONY: demo
demo: build $(VENV)/.ready ## start a server, run the example against it, and stop the server
	$(VENVPY) integration/demo.py

## Tests

.PHONY: test
test: check integration test-python test-spark ## everything: lint, unit tests, race detector, real clients, the Python package, Spark

.PHONY: check
check: lint unit race ## lint, unit tests and race detector

.PHONY: unit
unit: ## unit tests
	$(GO) test $(TESTFLAGS) $(PACKAGES)

# A program whose goroutines still run waits for reports of theirs when it ends: a second, if it is not told otherwise.
.PHONY: race
race: ## unit tests under the race detector
	GORACE=atexit_sleep_ms=20 $(GO) test -race $(TESTFLAGS) $(RACED)

# Making an interesting input smaller may otherwise take a whole minute of each, which then tries nothing new.
.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (60s) each
	@for package in $(PACKAGES); do \
	  for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
	    echo "== $$package $$target"; \
	    $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 5s $$package || exit 1; \
	  done; \
	done

# The server with the action `trap`, which makes every stored payload unreadable: reads of metadata must not notice.
.PHONY: build-trap
build-trap:
	$(GO) build -tags payloadtrap -o bin/flightcache-trap ./cmd/flightcache

.PHONY: build-wire
build-wire:
	$(GO) build -o bin/wire ./integration/wire

.PHONY: build-certificates
build-certificates:
	$(GO) build -o bin/certificates ./integration/certificates

# Stock clients in other languages, built with the tools and the caches of their own; integration/CLIENTS.md.
.PHONY: build-clients build-go build-java build-rust
build-clients: build-go build-java build-rust
build-go:
	$(GO) build -o bin/goclient ./integration/goclient
build-java: .cache/java/.ready
build-rust: .cache/rust-target/.ready
.cache/java/.ready: integration/java/pom.xml $(wildcard integration/java/src/main/java/*/*.java)
	rm -rf .cache/java
	$(MVN) --quiet --batch-mode -Dstyle.color=never --file $< compile
	touch $@
.cache/rust-target/.ready: integration/rust/Cargo.toml integration/rust/Cargo.lock $(wildcard integration/rust/src/*.rs)
	$(CARGO) build --quiet --locked --manifest-path $< --target-dir .cache/rust-target
	touch $@

# What operators ask a server with: integration/tests/test_logins.py.
GRPCURL_VERSION := v1.9.4
PROBE_VERSION   := v0.4.63
PROBES          := .tools/grpcurl .tools/grpc-health-probe
.tools/grpcurl: .tools/grpcurl-$(GRPCURL_VERSION)
.tools/grpc-health-probe: .tools/grpc-health-probe-$(PROBE_VERSION)
$(PROBES):
	ln -sf $(notdir $<) $@
.tools/grpcurl-$(GRPCURL_VERSION):
	GOBIN=$(TOOLS) GOFLAGS= $(GO) install github.com/fullstorydev/grpcurl/cmd/grpcurl@$(GRPCURL_VERSION)
	mv .tools/grpcurl $@
.tools/grpc-health-probe-$(PROBE_VERSION):
	GOBIN=$(TOOLS) GOFLAGS= $(GO) install github.com/grpc-ecosystem/grpc-health-probe@$(PROBE_VERSION)
	mv .tools/grpc-health-probe $@

CHURNFLAGS ?= --seconds 600 --memory 512MiB
.PHONY: churn
churn: build $(VENV)/.ready ## ten minutes of everything at once under 512 MiB, in each kind of eviction
	$(VENVPY) integration/churn.py $(CHURNFLAGS) --eviction reject
	$(VENVPY) integration/churn.py $(CHURNFLAGS) --eviction drop
	$(VENVPY) integration/churn.py $(CHURNFLAGS) --eviction spill

.PHONY: hostile
hostile: build build-wire $(VENV)/.ready ## a minute of noise, 10,000 connections, stalled clients: what a client that behaves sees
	FLIGHTCACHE_NOISE_SECONDS=60 $(VENVPY) -m pytest -q -rP integration/tests/test_hostile.py

.PHONY: integration
integration: build build-trap build-wire build-certificates build-clients $(PROBES) $(VENV)/.ready ## the built server against real clients
	$(GO) test $(TESTFLAGS) -count=1 ./integration/...
	$(VENVPY) -m pytest -q integration $(PYTESTFLAGS)

## The Python package

# An environment for each version of Python: make test-python PYTHON=python3.13
PYTAG   := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
PYFOLD  := .cache/python$(PYTAG)
PYPY    := $(PYFOLD)/venv/bin/python
PYDIST  := clients/python/dist
PYFILES := $(shell find clients/python/src clients/python/docs -type f -not -name '*.pyc') \
	clients/python/pyproject.toml clients/python/README.md clients/python/CHANGELOG.md
# Versions of DuckDB beside the one in the environment, each in a folder of its own.
DUCKDBS := 1.5.6 1.4.4

.PHONY: python
python: $(PYDIST)/.ready ## build the Python package: wheel and sdist in clients/python/dist

$(PYDIST)/.ready: $(PYFILES) LICENSE $(PYFOLD)/venv/.ready
	rm -rf $(PYDIST)
	cp LICENSE clients/python/LICENSE
	$(PYPY) -m build --no-isolation --outdir $(PYDIST) clients/python > $(PYFOLD)/build.log || { cat $(PYFOLD)/build.log; exit 1; }
	rm -f clients/python/LICENSE
	touch $@

# The tests run what is shipped, not the source.
$(PYFOLD)/.installed: $(PYDIST)/.ready
	$(PYPY) -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall $(PYDIST)/*.whl
	touch $@

.PHONY: test-python
test-python: build $(PYFOLD)/.installed $(DUCKDBS:%=$(PYFOLD)/duckdb-%/.ready) ## the Python package against the built server
	cd clients/python && ../../$(PYPY) -m pytest -q $(PYTESTFLAGS)
	$(foreach v,$(DUCKDBS),cd clients/python && DUCKDB_VERSION=$(v) PYTHONPATH=../../$(PYFOLD)/duckdb-$(v) \
	  ../../$(PYPY) -m pytest -q tests/test_duckdb.py tests/test_tpch.py $(PYTESTFLAGS) && cd ../.. &&) true

$(PYFOLD)/venv/.ready: clients/python/requirements-test.txt
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "Python 3.11 or newer is needed: make PYTHON=python3.11"'
	$(PYTHON) -m venv $(PYFOLD)/venv
	$(PYPY) -m pip install --quiet --disable-pip-version-check -r $<
	touch $@

$(PYFOLD)/duckdb-%/.ready: $(PYFOLD)/venv/.ready
	rm -rf $(@D)
	$(PYPY) -m pip install --quiet --disable-pip-version-check --no-deps --target $(@D) duckdb==$*
	touch $@

## Spark: clients/spark/README.md

SPARK_SOURCES = clients/spark/pom.xml $(shell find clients/spark/src -type f)
MVN_SPARK = $(MVN) --quiet --batch-mode -Dstyle.color=never --file clients/spark/pom.xml

.PHONY: spark
spark: .cache/spark/.jar ## build the Spark connector, clients/spark/target/flightcache-spark-*.jar
.cache/spark/.jar: $(SPARK_SOURCES)
	rm -rf clients/spark/target
	$(MVN_SPARK) package -DskipTests
	mkdir -p $(@D) && touch $@

.PHONY: test-spark
test-spark: build spark $(SPARK_VENV)/.ready ## the Spark connector: its unit tests, and a real Spark against the built server
	$(MVN_SPARK) surefire:test
	$(SPARK_VENV)/bin/python -m pytest -q clients/spark/tests $(PYTESTFLAGS)

# Other versions that the connector is for.
SPARKS := 4.0.1 4.2.0
.PHONY: test-sparks
test-sparks: ## test-spark with the other versions of Spark that the connector is for
	$(foreach v,$(SPARKS),$(MAKE) test-spark SPARK=$(v) &&) true

$(SPARK_VENV)/.ready: clients/spark/tests/requirements.txt
	$(PYTHON) -m venv $(SPARK_VENV)
	$(SPARK_VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r $< pyspark==$(SPARK)
	touch $@

## Lint

.PHONY: lint
lint: lint-go lint-python ## static checks

.PHONY: lint-go
lint-go: .tools/golangci-lint
	.tools/golangci-lint run --allow-parallel-runners ./...

.PHONY: lint-python
lint-python: $(VENV)/.ready $(PYFOLD)/venv/.ready
	$(VENV)/bin/ruff check --quiet integration examples bench clients
	$(VENV)/bin/ruff format --quiet --check integration examples bench clients
	cd clients/python && ../../$(PYPY) -m mypy --no-error-summary

GOLANGCI_VERSION := v2.15.0
.tools/golangci-lint: .tools/golangci-lint-$(GOLANGCI_VERSION)
	ln -sf golangci-lint-$(GOLANGCI_VERSION) $@
.tools/golangci-lint-$(GOLANGCI_VERSION):
	GOBIN=$(TOOLS) GOFLAGS= $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	mv .tools/golangci-lint $@

## Measuring

.PHONY: bench
bench: build build-bench build-certificates spark $(VENV)/.ready $(SPARK_VENV)/.ready ## side by side with its peers; writes bench/RESULTS.md
	$(VENVPY) bench/run.py $(BENCHFLAGS)

# Builds of the server that leave something out, to weigh it: bench/sections/ablations.py.
ABLATIONS := nostatistics nocontexts nogather nofacts
.PHONY: build-bench
build-bench:
	$(GO) build -o bin/bench-arrowgo ./bench/peers/arrowgo
	$(GO) build -o bin/bench-bare ./bench/peers/bare
	$(GO) build -o bin/bench-drain ./bench/drain
	$(GO) build -o bin/bench-callers ./bench/callers
	$(foreach tag,$(ABLATIONS),$(GO) build -tags $(tag) -o bin/bench-$(tag) ./cmd/flightcache &&) true

# make bench-compare BASE=v1.0 BENCHPACKAGES=./arrowipc/... BENCHCOUNT=10
BENCHPACKAGES ?= ./...
BENCHMATCH    ?= .
BENCHCOUNT    ?= 6
BENCHTIME     ?= 0.2s
.PHONY: bench-compare
bench-compare: .tools/benchstat ## Go benchmarks of the revision BASE and of this folder, compared
	@test -n "$(BASE)" || { echo "give the revision to compare with: make bench-compare BASE=main"; exit 2; }
	GO="$(GO)" bench/compare.sh "$(BASE)" "$(BENCHPACKAGES)" "$(BENCHMATCH)" $(BENCHCOUNT) $(BENCHTIME)

BENCHSTAT_VERSION := v0.0.0-20260908200009-22c9c6c9d4da
.tools/benchstat: .tools/benchstat-$(BENCHSTAT_VERSION)
	ln -sf benchstat-$(BENCHSTAT_VERSION) $@
.tools/benchstat-$(BENCHSTAT_VERSION):
	GOBIN=$(TOOLS) GOFLAGS= $(GO) install golang.org/x/perf/cmd/benchstat@$(BENCHSTAT_VERSION)
	mv .tools/benchstat $@

## Setting up

$(VENV)/.ready: integration/requirements.txt
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "Python 3.11 or newer is needed: make PYTHON=python3.11"'
	$(PYTHON) -m venv $(VENV)
	$(VENVPY) -m pip install --quiet --disable-pip-version-check -r integration/requirements.txt
	touch $@

.PHONY: clean
clean: ## remove everything that this Makefile made
	rm -rf bin $(VENV) .cache $(PYDIST) clients/spark/target
	chmod -Rf u+w .tools || true
	rm -rf .tools
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
