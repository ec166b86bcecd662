# The front door. `make demo` shows the platform, `make test` checks all of it; both set up
# what they need in .venv and say what they do. The rest are parts of these two.

PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.ready

.PHONY: help demo test faults cgroups quick check format bench dashboard types wheel clean

help:            ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

$(STAMP): pyproject.toml scripts/setup.sh
	@PYTHON=$(PYTHON) sh scripts/setup.sh

demo: $(STAMP)   ## run the platform end to end in a temporary home
	@$(BIN)/python scripts/demo.py

test: $(STAMP)   ## run every test, on real databases and stores
	@sh scripts/servers.sh
	@$(BIN)/python hatch_build.py
	@$(BIN)/pytest -q -n 2 --dist loadfile

faults: $(STAMP) ## a thousand uploads and 300 kills among jobs; too long for every change
	@$(BIN)/python tests/faults/upload_rounds.py --rounds 1000
	@$(BIN)/python tests/faults/with_postgres.py tests/faults/upload_rounds.py --rounds 1000
	@$(BIN)/python tests/faults/job_rounds.py --kills 300
	@$(BIN)/python tests/faults/with_postgres.py tests/faults/job_rounds.py --kills 300

cgroups: $(STAMP) ## limits on a real cgroup v2, under user-mode Linux; minutes
	@sh tests/slow/cgroup_v2.sh

quick: $(STAMP)  ## run the tests that take no time
	@$(BIN)/pytest -q -m "not slow" tests/unit

check: $(STAMP)  ## linters, types, import rules
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/python scripts/import_graph.py

format: $(STAMP) ## rewrite the code in the house style
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: $(STAMP)  ## measure beside peers and limits; about an hour
	@for one in lake/tree lake/commit lake/sets lake/provenance lake/search lake/transfer \
	  engine/scheduling engine/warm_input engine/throughput engine/noop \
	  dashboard/pages; do \
	  echo "== bench/$$one.py"; $(BIN)/python bench/$$one.py || exit 1; done

dashboard: $(STAMP)  ## build the dashboard into the package, with Node from PyPI if there is none
	@$(BIN)/python hatch_build.py

types: dashboard ## write the dashboard's types out of the API
	@$(BIN)/python scripts/dashboard_types.py
	@$(BIN)/python hatch_build.py

wheel: $(STAMP)  ## build the wheel into dist/
	@$(BIN)/pip wheel -q --no-deps -w dist .

clean:           ## remove what the targets made
	rm -rf .venv dist build dashboard/node_modules src/acai/dashboard_files .mypy_cache .ruff_cache .pytest_cache .hypothesis
