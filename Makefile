# Everything runs inside .venv, which is made and kept up to date by itself.
# Needs: Python >= 3.11 with venv and pip, make. `make` alone lists the targets.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

# Set by some containers; with it every start of chatbridge would take twice as long.
unexport PYTHONDONTWRITEBYTECODE

# uv has certificates of its own, pip reads the system's: behind a proxy only those work.
ifneq ($(wildcard /etc/ssl/certs/ca-certificates.crt),)
export UV_SYSTEM_CERTS ?= 1
endif

BIN := .venv/bin
VENV := .venv/.installed
WORKERS ?= 4
PYTEST_ARGS ?=
COMPILE := $(BIN)/uv pip compile --universal --python-version 3.11 --upgrade --quiet --no-config \
	--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock"

# A tree that was copied or moved with its .venv needs a new one.
ifneq ($(shell .ci/venv stale),)
STALE := stale
endif

.PHONY: help
help: ## Show this list
	@printf '\nchatbridge: the questions of AI agents, on your phone\n\n'
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  \033[1mmake %-9s\033[0m %s\n", $$1, $$2 }' Makefile
	@printf '\nPython: make PYTHON=python3.12 …   one test: make test PYTEST_ARGS="-k name"\n\n'

.PHONY: demo
demo: $(VENV) ## Try it: a hub, a web inbox and a pretend agent, on this machine only
	@$(BIN)/chatbridge demo

.PHONY: test
test: ## Everything: style, types, import contracts, and all tests
	@$(MAKE) --jobs 3 --output-sync=target browser nspawn postgres check synapse inspector mcp1 collect
	@echo "  pytest    with $(WORKERS) workers"
	@.ci/scratch $(BIN)/python -m pytest -p tests.forks --forks $(WORKERS) $(PYTEST_ARGS)

.PHONY: quick
quick: $(VENV) ## The fast tests: unit and contract, no other programs, few examples of each
	@$(BIN)/python -m pytest tests/unit tests/contract -m "not process" \
		--hypothesis-profile=quick --numprocesses 2 --quiet $(PYTEST_ARGS)

.PHONY: browser synapse inspector mcp1 nspawn postgres
browser synapse inspector mcp1 nspawn postgres:
	@.ci/$@ set-up
synapse inspector mcp1: $(VENV)
nspawn: | browser # one apt at a time
postgres: | nspawn

# In a new tree, while the others wait for downloads: half a minute for one processor.
.PHONY: collect
collect: .venv/.collected ; @:
.venv/.collected: $(VENV)
	@echo "  collect   byte code of the tests"
	@$(BIN)/python -m pytest --collect-only --quiet >/dev/null || true # the run itself says what is wrong
	@touch $@

# Without the tests that count on an event of the kernel being there at the loop's next turn.
.PHONY: races
races: ## Look for races: tests with every event late by chance
	@PYTHONPATH=$(CURDIR)/tests/late $(MAKE) test PYTEST_ARGS="\
		tests/integration tests/acceptance tests/contract --deselect tests/integration/test_watch.py \
		--deselect tests/integration/test_watch_property.py $(PYTEST_ARGS)"

.PHONY: macos
macos: $(VENV) browser synapse inspector mcp1 ## Unit, contract and acceptance tests without all that macOS lacks: docs/macos.md
	@$(BIN)/python -m tests.macos.environment .venv/macos
	@.ci/scratch .venv/macos/bin/python -m pytest -p tests.macos.not_there --numprocesses $(WORKERS) \
		--dist worksteal -m "not nspawn and not systemd" \
		tests/unit tests/contract tests/acceptance $(PYTEST_ARGS)

.PHONY: check
check: lint types contracts ## Style, types and import contracts, without the tests

.PHONY: lint
lint: $(VENV) ## Style: ruff check and ruff format --check
	@echo "  ruff      check, format"
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --check --quiet || \
		{ echo "Not formatted (see: .venv/bin/ruff format --diff). Run: make format"; exit 1; }

.PHONY: types
types: $(VENV)
	@echo "  mypy      --strict"
	@$(BIN)/mypy --no-error-summary

.PHONY: contracts
contracts: $(VENV)
	@echo "  imports   contracts"
	@out=$$($(BIN)/lint-imports 2>&1) || { echo "$$out"; exit 1; }

.PHONY: format
format: $(VENV) ## Format the code and repair what ruff can repair
	@$(BIN)/ruff check --fix --quiet || true
	@$(BIN)/ruff format

.PHONY: bench
bench: $(VENV) ## Measure everything beside its reference, for docs/figures.md
	@.ci/synapse set-up
	@$(BIN)/python -m tests.bench

.PHONY: chaos
chaos: $(VENV) ## A night of faults: CHAOS_MINUTES=3 CHAOS_SEED=… CHAOS_STORE=postgresql (three hubs)
	@.ci/chaos set-up
	@.ci/synapse set-up
	@.ci/scratch $(BIN)/python -m tests.chaos

LOAD_MINUTES ?= 20
LOAD_AGENTS ?= 1000
LOAD_PEOPLE ?= 50
LOAD_RATE ?= 100
LOAD_STORES ?= sqlite,postgresql
LOAD_RAMP ?= 300,600,1000,1500,2000,3000
LOAD_CROWDS ?= 10,50,100,200
LOAD_SEED ?= 1
.PHONY: load
load: $(VENV) ## A thousand agents and fifty people at a hub, over each store: LOAD_MINUTES=20 …
	@.ci/postgres set-up
	@$(BIN)/python -m tests.load --minutes $(LOAD_MINUTES) --agents $(LOAD_AGENTS) \
		--people $(LOAD_PEOPLE) --rate $(LOAD_RATE) --stores $(LOAD_STORES) --ramp "$(LOAD_RAMP)" \
		--crowds "$(LOAD_CROWDS)" --seed $(LOAD_SEED) --write-docs

SOAK_MINUTES ?= 180
SOAK_RATE ?= 1
.PHONY: soak
soak: $(VENV) ## Hours with a hundred links: whether the hub needs more and more: SOAK_MINUTES=180 SOAK_RATE=1
	@$(BIN)/python -m tests.bench.soak --minutes $(SOAK_MINUTES) --rate $(SOAK_RATE)

.PHONY: clients
clients: $(VENV) ## Real agents' programs with a pretend model, offline: the table of docs/clients.md
	@.ci/clients set-up
	@$(BIN)/python -m tests.clients --write-docs

.PHONY: packages
packages: $(VENV) ## Build wheel and sdist, and install them with pip, pipx and uv on each Python
	@.ci/packages

.PHONY: container
container: $(VENV) ## Build the container's image with podman, and try it
	@.ci/container

.PHONY: release
release: $(VENV) ## Check that this commit can be published, and build dist/; uploads nothing
	@.ci/release

.PHONY: pictures
pictures: $(VENV) ## Draw the documentation's pictures anew
	@$(BIN)/python -m tests.pictures

.PHONY: lock
lock: ## Compile requirements.txt and the lists in .ci anew, with the newest versions that fit
	@.ci/venv base
	@echo "  lock      requirements.txt"
	@$(COMPILE) pyproject.toml --extra dev --output-file requirements.txt
	@echo "  lock      .ci/synapse.txt"
	@$(COMPILE) .ci/synapse.in --output-file .ci/synapse.txt
	@echo "  lock      .ci/mcp1.txt"
	@$(COMPILE) .ci/mcp1.in --output-file .ci/mcp1.txt

.PHONY: clean
clean: ## Remove .venv, .synapse, .inspector, .mcp1, .clients, .container, caches and build products
	rm -rf .venv .synapse .inspector .mcp1 .clients .container .hypothesis .import_linter_cache \
		.mypy_cache .pytest_cache .ruff_cache build dist
	find chatbridge tests -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: stale
stale:

$(VENV): requirements.txt pyproject.toml $(STALE)
	@.ci/venv
	@touch $@
