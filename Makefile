# MCPist: `make` lists the targets. Each one installs what it needs: uv into .tools (unless it is on PATH), the locked
# packages into .venv, and the SAM CLI, checkov, bandit and ministack beside the lock, since their pins would drag boto3
# back. What runs with the rights of a deployment is installed by its hashes: infra/tools.

.DEFAULT_GOAL := help
.PHONY: help up shell test test-all mutate check cover scan build deploy rehearse sam-local bench docs site lock htmx contracts clean
.DELETE_ON_ERROR:

UV_VERSION := 0.13.9
SAM_VERSION := 1.170.0
CHECKOV_VERSION := 3.3.30
BANDIT_VERSION := 1.9.4
MINISTACK_VERSION := 1.5.33
ZENSICAL_VERSION := 0.0.73
HTMX_VERSION := 4.0.1
BUILD_DIR := .aws-sam/build
SCAN_DIR := .aws-sam/scan

# As infra/tools has them; `make lock` renews these files.
TOOL_uv := uv==$(UV_VERSION)
TOOL_sam := aws-sam-cli==$(SAM_VERSION)
TOOL_checkov := checkov==$(CHECKOV_VERSION)
TOOL_bandit := bandit==$(BANDIT_VERSION)

UV := $(or $(shell command -v uv 2>/dev/null),.tools/bin/uv)
OWN_UV := $(filter .tools/%,$(UV))
RUN := $(UV) run --no-sync
EXPORT := $(UV) export --locked --quiet --no-default-groups --no-emit-project --prune rich --prune typer --no-header --no-annotate
REQUIREMENTS := layers/dependencies/requirements.txt
# The layers' own makefiles run in scratch folders, where nothing else tells uv which Python is ours.
OWN_PYTHON := UV_PYTHON="$(CURDIR)/.venv/bin/python" SAM_CLI_TELEMETRY=0
COVERED := tests/core/files tests/core/programs tests/program_runner tests/services/files tests/services/programs
# With ALL=yes: everything that a deployment runs but the services, by all tests.
ROOMS := $(if $(ALL),'functions/*' 'layers/core/*','layers/**/files/*' 'layers/**/programs/*' 'functions/program_runner/*')
ALL_SOURCES := functions,layers/core/mcpist
# Who takes which tests, and in which order: tests/running.py.
# All tests with slow ones wait for processes a third of their time.
PYTEST := $(RUN) pytest -n $(if $(REST),3,2) --dist loadfile --no-loadscope-reorder
SAM := $(OWN_PYTHON) "$(CURDIR)/.tools/sam/bin/sam"

unexport VIRTUAL_ENV
# Compiling all modules anew in each process costs a run of the tests a minute of CPU.
unexport PYTHONDONTWRITEBYTECODE
export UV_PROJECT_ENVIRONMENT := .venv
ifdef OWN_UV
export PATH := $(CURDIR)/.tools/bin:$(PATH)
endif

help: ## Show this list.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-9s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

up: .venv/.synced ## Run the whole house on this machine, e.g. make up ARGS="--help".
	@$(RUN) mcpist up $(ARGS)

shell: .venv/.synced ## Open a shell in which `mcpist` is found.
	@PATH="$(CURDIR)/.venv/bin:$$PATH" $${SHELL:-/bin/sh} || true

# REST=yes runs the slow tests as well, but none that `make cover` has run.
test: .venv/.peers ## Run the tests, e.g. make test ARGS="-k batch".
	@$(PYTEST) $(if $(REST),-m "" $(COVERED:%=--ignore=%)) $(ARGS)

test-all: .venv/.peers ## Run the slow tests too, on all examples, e.g. FLOOD_MINUTES=60 make test-all ARGS="-s -k flood" for an hour's flood.
	@MCPIST_TESTS_ALL_EXAMPLES=yes $(PYTEST) -m "" $(ARGS)

mutate: .venv/.synced ## Remove each defence of docs/security.md and demand red tests, e.g. make mutate ARGS="state_*".
	@$(RUN) python -m tests.mutations $(ARGS)

check: .venv/.synced .tools/sam/.synced .tools/bandit/.synced ## Format, lint, types, the arrows between the rooms, the pages, the template, the requirements.
	$(RUN) ruff format --check .
	$(RUN) ruff check .
	$(RUN) mypy
	PYTHONPATH=functions $(RUN) lint-imports
	@.tools/bandit/bin/bandit --quiet --recursive --configfile infra/bandit.yaml layers/core layers/services functions infra benchmarks rehearsal scripts
	$(RUN) python -m scripts.reference --check
	$(RUN) python -m scripts.sizes --check
	@echo 'diff $(REQUIREMENTS) uv.lock'
	@$(EXPORT) | diff $(REQUIREMENTS) - || { echo '$(REQUIREMENTS) is behind uv.lock: run `make lock`' >&2; exit 1; }
	$(SAM) validate --lint
	.tools/sam/bin/cfn-lint infra/cognito.yaml infra/watch.yaml
	@$(MAKE) --no-print-directory scan
	@$(MAKE) --no-print-directory cover

cover: .venv/.peers ## Run the tests of files and programs; 95 % of the branches of each must be covered. ALL=yes: of functions and core.
	@mkdir -p .coverage
	@$(RUN) coverage erase
	@PYTHONPATH=functions $(RUN) coverage run $(if $(ALL),--source=$(ALL_SOURCES)) -m pytest -q -p no:xdist $(TIER) $(if $(ALL),,$(COVERED))
	@$(RUN) coverage combine --quiet
	@for room in $(ROOMS); do $(RUN) coverage report --include "$$room" || exit 1; done

scan: .venv/.synced .tools/sam/.synced .tools/checkov/.synced ## Search what CloudFormation sees for weak settings; infra/checkov.yaml says what is skipped and why.
	@mkdir -p "$(SCAN_DIR)"
	@.tools/sam/bin/python scripts/translate.py >"$(SCAN_DIR)/template.json"
	.tools/checkov/bin/checkov --config-file infra/checkov.yaml --file "$(SCAN_DIR)/template.json" infra/cognito.yaml infra/watch.yaml

build: .venv/.synced .tools/sam/.synced ## Build what `sam deploy` uploads: functions and layers with compiled bytecode.
	@$(RUN) mcpist upstream check --deploy layers/config/upstreams.json >&2
	@$(RUN) mcpist api check --build >&2
	@$(RUN) mcpist program check --deploy >&2
	@$(EXPORT) | cmp -s - $(REQUIREMENTS) || $(EXPORT) --output-file $(REQUIREMENTS) >/dev/null
	@$(SAM) build --build-dir "$(BUILD_DIR)"
	@$(RUN) python -m infra.deploy --stamp --build-dir "$(BUILD_DIR)"
	@$(EXPORT) --format cyclonedx1.5 | $(RUN) python -m infra.deploy.bill_of_materials >"$(BUILD_DIR)/bom.cdx.json"

deploy: build ## Build and deploy without a question, e.g. make deploy ARGS="--region eu-west-1 AlarmEmail=ops@example.com".
	@SAM='$(SAM)' $(RUN) python -m infra.deploy $(ARGS)

rehearse: .venv/.synced .tools/sam/.synced ## Deploy, use, change and delete the stack on an engine on this machine; ARGS="--help" lists options.
	@SAM='$(SAM)' ENGINE="$$($(OWN_PYTHON) $(UV) tool run --from 'ministack[full]==$(MINISTACK_VERSION)' python -c 'import sys; print(sys.executable)')" \
	  $(RUN) python -m rehearsal $(ARGS)

sam-local: .venv/.synced .tools/sam/.synced ## After make build: the functions in containers, e.g. make sam-local ARGS="events/mcp_endpoint_list_tools.json".
	@SAM='$(SAM)' $(RUN) python -m scripts.sam_local $(ARGS)

bench: .venv/.synced ## Measure the design's numbers on this machine.
	@PYTHONPATH=functions $(RUN) python -m benchmarks $(ARGS)

docs: .venv/.synced ## Write from the code: docs/tools, docs/errors.md, the upstreams' schema, the exact requests that tests compare.
	@$(RUN) python -m scripts.reference
	@$(RUN) python -m tests.services.test_requests

site: .venv/.synced ## Build the documentation's site into .site; a link that leads nowhere is an error.
	@rm -rf .site && mkdir .site && PYTHONPATH=. $(RUN) python -m scripts.site .site
	@cd .site && "$(abspath $(UV))" tool run --quiet --from 'zensical==$(ZENSICAL_VERSION)' zensical build --strict

contracts: .venv/.synced ## Fetch the vendors' API descriptions into .contracts, for the tests that check tools against them.
	@PYTHONPATH=functions:. $(RUN) python -m tests.services.descriptions.fetch

lock: $(OWN_UV) ## Bring uv.lock and the layer's requirements in step with pyproject.toml, and infra/tools with this file.
	@$(UV) lock
	@$(EXPORT) --output-file $(REQUIREMENTS) >/dev/null
	@$(foreach tool,uv sam checkov bandit,echo '$(TOOL_$(tool))' | $(UV) pip compile --quiet --universal --python-version 3.13 \
	  --generate-hashes --no-header --no-annotate --output-file infra/tools/$(tool).txt - >/dev/null &&) true

htmx: ## Renew the console's copy of htmx from npm, with its licence.
	@folder=$$(mktemp -d) && cd $$folder && tar xzf "$$(npm pack --silent htmx.org@$(HTMX_VERSION))" \
	  && cp package/dist/htmx.min.js "$(CURDIR)/functions/console/assets/htmx.js" \
	  && cp package/LICENSE "$(CURDIR)/functions/console/assets/htmx.LICENSE" && rm -r $$folder

clean: ## Remove all that make made; .mcpist, your local data, stays, but with ARGS=--data.
	@rm -rf .aws-sam .contracts .coverage .hypothesis .mutations .import_linter_cache .mypy_cache .pytest_cache .ruff_cache .site .tools .venv dist $(if $(filter --data,$(ARGS)),.mcpist)
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/.synced: pyproject.toml uv.lock .python-version | $(OWN_UV)
	@$(UV) python find >/dev/null 2>&1 || $(UV) python install --quiet 2>/dev/null || { \
	  echo 'make needs Python 3.13, which uv neither found nor could fetch: install python3.13, or go online.' >&2; exit 1; }
	@echo 'Installing the locked packages into .venv' >&2
	@$(UV) sync --locked --extra local --quiet --compile-bytecode
	@$(RUN) python -m compileall -q -j 0 layers functions infra
	@touch $@

.venv/.peers: .venv/.synced $(wildcard tests/peers/*.txt tests/*/package-lock.json tests/*/*/package-lock.json)
	@echo 'Installing what others wrote and tests drive' >&2
	@$(RUN) python -m tests.peers.prepare
	@touch $@

.tools/%/.synced: infra/tools/%.txt | .venv/.synced
	@echo 'Installing $* into .tools' >&2
	@$(UV) venv --quiet --clear --python .venv/bin/python .tools/$*
	@$(UV) pip install --quiet --require-hashes --python .tools/$* --requirement $<
	@touch $@

.tools/bin/uv:
	@python3 -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo 'make needs uv, and the python3 here cannot make a virtual environment to install it into.' >&2; \
	  echo 'Install uv (https://docs.astral.sh/uv/), or python3 with venv (Debian, Ubuntu: apt install python3-venv).' >&2; \
	  exit 1; }
	@echo 'Installing uv into .tools' >&2
	@python3 -m venv .tools/uv
	@.tools/uv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement infra/tools/uv.txt
	@mkdir -p .tools/bin
	@ln -sf ../uv/bin/uv ../uv/bin/uvx .tools/bin/
