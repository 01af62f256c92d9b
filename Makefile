# Everything a checkout needs lives in .venv and target/; built stacks live in the user's cache.
SHELL := /bin/sh
PYTHON ?= python3
BIN := .venv/bin
RUST := $(shell find crates -name '*.rs' -o -name 'Cargo.toml') Cargo.toml Cargo.lock
# Compiled modules are kept whatever the caller's shell exports: every test starts several interpreters.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help build ready demo wheel quick test test-stacks lint generate site architecture bench fuzz torture clean
help:
	@echo "make demo    install what is missing, run the study 'demo', print its verdicts and the report's path"
	@echo "make quick   format, lint, types, and the unit tests of what has changed: under a minute"
	@echo "make test    install what is missing, run every test"
	@echo "make wheel   write dist/: the wheel of Longlook, the wheel of its kernel and programs, and the source distribution"
	@echo "make test-stacks  install every version of every stack, check all, draw the matrix"
	@echo "make lint    formatting, lint and strict types of Python, Rust and Go"
	@echo "make generate  write every file that is made from the code: tables, drawing, golden results"
	@echo "make site    build the documents' site in site/, where a broken link or a page outside the navigation is an error"
	@echo "make architecture  draw the packages and their imports, print what is counted of the code"
	@echo "make fuzz    run the fuzzers of the decoder, inference, study files and recordings, FUZZ_SECONDS (60) each"
	@echo "make torture kill, damage, fill disks and fuzz for TORTURE_MINUTES (120); the same folder goes on"
	@echo "make bench   measure speed and accuracy, write benches/results.json"

.venv/packages: requirements.lock scripts/bootstrap
	@PYTHON=$(PYTHON) scripts/bootstrap
	@touch $@

.venv/built: .venv/packages pyproject.toml longlook.data/scripts/longlook $(RUST)
	@echo "building the link emulator and installing longlook into .venv …"
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --reinstall --editable .
	@touch $@

# Vale, which reads the style of documents, built from sources that style/go.sum pins; it needs a C compiler, as Rust does.
.venv/bin/vale: style/go.mod style/go.sum
	@echo "building vale into .venv …"
	@cd style && CGO_CFLAGS='-O2 -w' go build -mod=readonly -trimpath -ldflags=-w -o ../.venv/bin/vale github.com/vale-cli/vale/v3/cmd/vale

build: .venv/built

ready: build
	@$(BIN)/longlook setup

demo: build
	@$(BIN)/longlook demo

wheel: build
	$(BIN)/python packaging/make.py

quick: build
	@$(BIN)/python -m scripts.quick

test: ready .venv/bin/vale
	cargo test --quiet --locked --workspace
	$(BIN)/pytest -n auto --no-loadscope-reorder -m "not realtime and not stacks" --durations=40
	$(BIN)/pytest -p no:xdist -m "realtime and not stacks"

# The documents as a site, by packages that nothing else needs. `uv pip compile --group pyproject.toml:site
# -c requirements.lock --generate-hashes --universal --python-version 3.11 --no-header --no-annotate -o site.lock` pins them.
.venv/site: .venv/packages site.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes --only-binary :all: -r site.lock
	@touch $@

site: .venv/site
	$(BIN)/sphinx-build --quiet --nitpicky --fail-on-warning --keep-going -c style/site . site

# Every version of every stack: hours where nothing is installed yet. Failures of one do not stop the rest.
test-stacks: ready
	@status=0; \
	$(BIN)/longlook stacks check --all || status=1; \
	$(BIN)/pytest -m stacks || status=1; \
	$(BIN)/longlook stacks matrix || status=1; \
	$(BIN)/longlook stacks docs docs/reference/stack-tables.md || status=1; \
	exit $$status

lint: build .venv/bin/vale
	$(BIN)/ruff format --check src tests adapters benches ci packaging scripts style
	$(BIN)/ruff check src tests adapters benches ci packaging scripts style
	$(BIN)/python -m scripts.generate --check
	$(BIN)/lint-imports --no-logo --no-cache pyproject.toml
	$(BIN)/python scripts/architecture.py --check
	$(BIN)/python -m scripts.prose --check
	$(BIN)/python -m scripts.causal --check
	$(BIN)/python -m scripts.ratchets --check
	$(BIN)/mypy
	cargo fmt --all --check
	cargo clippy --quiet --locked --workspace --all-targets -- -D warnings
	cd adapters/quic-go && test -z "$$(gofmt -l .)" && go vet ./...
	cd adapters/traffic && test -z "$$(gofmt -l .)" && go vet ./...
	cd adapters/masque && test -z "$$(gofmt -l .)" && go vet ./...
	cd adapters/site && test -z "$$(gofmt -l .)" && go vet ./...

generate: ready
	@$(BIN)/python -m scripts.generate

architecture: build .venv/bin/vale
	$(BIN)/python scripts/architecture.py
	$(BIN)/python -m scripts.ratchets

bench: ready
	$(BIN)/python -m benches

fuzz: build
	@fuzz/run

torture: ready
	$(BIN)/python -m tests.torture --minutes $${TORTURE_MINUTES:-120} --out $${TORTURE_OUT:-runs/torture} \
		--record $${TORTURE_RECORD:-docs/data/torture.json}

clean:
	rm -rf .venv target dist
	find src tests adapters benches packaging scripts -name __pycache__ -prune -exec rm -rf {} +
