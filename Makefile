# GNU make 3.81 (macOS) or later, POSIX sh. Targets set up what they need or say what to install.
#
#   make reproduce JOBS=4        cells computed in parallel (default: number of cores)
#   make reproduce PROFILE=paper another profile: quick, standard or paper
#   make reproduce ROOT=DIR      another folder with configs/, data/, results/ and figures/
#   make data NAMES="adult.data" only these data sets
#   make verify PROOFS=1         recompute all bounds from their certificates too: 5 min

SHELL := /bin/sh
.SUFFIXES:
.DEFAULT_GOAL := help
.PHONY: help build program reproduce beyond all-results quick figures compare verify data test python test-lapack bench archive lint doc site clean rust lint-tools

PROFILE ?= standard
JOBS ?=
ROOT ?=
NAMES ?=
PROOFS ?=

# rustup installs into ~/.cargo/bin, which may not yet be in the PATH of an open shell. The full
# path is needed because GNU make 3.81 looks up commands in its initial PATH and ignores exports.
ifndef CARGO
CARGO := $(shell PATH="$$PATH:$${CARGO_HOME:-$$HOME/.cargo}/bin"; command -v cargo || echo cargo)
endif

# Expected time and memory on 2 cores, without the first build; stated only here. The times of the
# papers are those of two runs with nothing beside them, on machines of different speed; beyond them,
# the sum of several runs: 43 min for 21 tables, 45 min for amplified and streams, and the rest for
# amplified-large.
BUILD_COST       := about 7 min
REPRODUCE_COST   := up to 1 h, 7 GB
BEYOND_COST      := about 5 h, 1.7 GB
ALL_COST         := about 6 h, 7 GB
QUICK_COST       := 2 min, 670 MB
FIGURES_COST     := 12 s, 90 MB
COMPARE_COST     := 5 s, 50 MB
VERIFY_COST      := a few seconds
DATA_COST        := 11 MB to download
TEST_COST        := 6 min, 1.7 GB
PYTHON_COST      := 1 min
TEST_LAPACK_COST := 1 min, after a separate build of 2 min
BENCH_COST       := 9 min, 1.1 GB
LINT_COST        := 20 s, after checking the dependencies once (3 min)
ARCHIVE_COST     := 10 s, 17 MB
DOC_COST         := 20 s, after checking the dependencies once
SITE_COST        := 5 s

REPRODUCE := "$${CARGO_TARGET_DIR:-target}/release/reproduce"
ROOT_OPTION = $(if $(ROOT),--root "$(ROOT)")
JOBS_OPTION = $(if $(JOBS),--jobs $(JOBS))

help:
	@echo 'matmech: the matrix mechanism, and the reproduction of four papers on it'
	@echo
	@echo '  target             what it does                                                      expected time and memory'
	@echo '  make reproduce     the four papers: tables, figures and comparison                   $(REPRODUCE_COST)'
	@echo '  make beyond        the experiments beyond the papers                                 $(BEYOND_COST)'
	@echo '  make all-results   both                                                              $(ALL_COST)'
	@echo '  make quick         a small part of every experiment                                  $(QUICK_COST)'
	@echo '  make figures       all figures, redrawn from stored results                          $(FIGURES_COST)'
	@echo '  make compare       COMPARISON.md and comparison.html, from stored results            $(COMPARE_COST)'
	@echo '  make verify        check results against their provenance, without computing         $(VERIFY_COST)'
	@echo '  make data          find or download the public data sets, and verify them            $(DATA_COST)'
	@echo '  make test          all tests                                                         $(TEST_COST)'
	@echo '  make python        the wheel of the Python package, in target/wheels                 $(PYTHON_COST)'
	@echo '  make test-lapack   cross-checks with OpenBLAS and the SDP cone of Clarabel           $(TEST_LAPACK_COST)'
	@echo '  make bench         benchmarks of the kernels, one thread except for streams          $(BENCH_COST)'
	@echo '  make archive       sources, results, figures, comparison, metadata, to target/       $(ARCHIVE_COST)'
	@echo '  make lint          formatting, clippy, documentation, workspace lints                $(LINT_COST)'
	@echo '  make doc           documentation of the library in target/doc                        $(DOC_COST)'
	@echo '  make site          README, docs/ and results as a site with a search, by mdBook      $(SITE_COST)'
	@echo '  make clean         remove target/, results/cells/ and results/stand-in/              1 s'
	@echo
	@echo '  Times are for 2 cores, without the first build (once for all targets): $(BUILD_COST).'
	@echo '  Variables: JOBS=N, PROFILE=quick|standard|paper, ROOT=DIR, NAMES="data sets", PROOFS=1; described at the top of the Makefile.'
	@echo '  Interrupted runs resume where they stopped: finished cells are in results/cells/.'

build: rust
	$(CARGO) build --release --locked --bins

# The command `reproduce` and its dependencies, without tests, benches and examples.
program: rust
	$(CARGO) build --release --locked -p experiments --bin reproduce

reproduce: program
	$(REPRODUCE) all --part papers --profile $(PROFILE) $(JOBS_OPTION) $(ROOT_OPTION)

beyond: program
	$(REPRODUCE) all --part beyond --profile $(PROFILE) $(JOBS_OPTION) $(ROOT_OPTION)

all-results: program
	$(REPRODUCE) all --profile $(PROFILE) $(JOBS_OPTION) $(ROOT_OPTION)

quick: program
	$(REPRODUCE) all --profile quick $(JOBS_OPTION) $(ROOT_OPTION)

figures: program
	$(REPRODUCE) figures --profile $(PROFILE) $(ROOT_OPTION)

compare: program
	$(REPRODUCE) compare --profile $(PROFILE) $(ROOT_OPTION)

verify: program
	$(REPRODUCE) verify --profile $(PROFILE) $(if $(PROOFS),--proofs) $(ROOT_OPTION)

data: program
	$(REPRODUCE) data $(NAMES) $(ROOT_OPTION)

# Tests that check results with NumPy are skipped without it, and named at the end. The tests build
# `reproduce`, which then checks the committed pages against the committed results.
test: rust
	@skipped="$$(mktemp)"; trap 'rm -f "$$skipped"' EXIT; \
	MATMECH_PYTHON="$$(sh scripts/python-with-numpy.sh)" MATMECH_SKIPPED="$$skipped" \
		$(CARGO) test --release --locked --workspace --exclude matmech-python; status=$$?; \
	if [ -s "$$skipped" ]; then \
		echo 'skipped, because there is no Python with NumPy (set MATMECH_PYTHON to one):'; \
		sort -u "$$skipped" | sed 's/^/  /'; \
	fi; exit $$status
	$(REPRODUCE) verify --pages
	CARGO='$(CARGO)' sh scripts/python.sh test

python: rust
	@CARGO='$(CARGO)' sh scripts/python.sh wheel

# One BLAS thread, because tests already run in parallel.
test-lapack: rust
	@sh scripts/require-openblas.sh
	PKG_CONFIG_PATH="$$(sh scripts/require-openblas.sh --pkg-config-path)" OPENBLAS_NUM_THREADS=1 \
		$(CARGO) test --release --locked -p matmech --features lapack

bench: rust
	$(CARGO) bench --locked -p matmech

lint: rust lint-tools
	$(CARGO) fmt --all --check
	$(CARGO) clippy --release --locked --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --release --locked --workspace --no-deps
	sh scripts/check-workspace-lints.sh
	CARGO='$(CARGO)' sh scripts/check-features.sh
	@if $(CARGO) deny --version >/dev/null 2>&1; then $(CARGO) deny --locked check; \
		else echo 'deny.toml is not checked: cargo install cargo-deny'; fi

# Deterministic: the same commit gives the same bytes.
archive: compare
	@sh scripts/archive.sh

doc: rust
	$(CARGO) doc --release --locked --workspace --no-deps
	@echo 'open target/doc/matmech/index.html'

site: rust
	@CARGO="$(CARGO)" sh scripts/site.sh

# Keeps committed result tables, provenance and figures.
clean:
	rm -rf target results/cells results/stand-in

rust:
	@CARGO='$(CARGO)' sh scripts/require-rust.sh

lint-tools:
	@$(CARGO) fmt --version >/dev/null 2>&1 && $(CARGO) clippy --version >/dev/null 2>&1 \
		|| { echo 'installing rustfmt and clippy (rustup component add rustfmt clippy)'; \
		     rustup component add rustfmt clippy; } \
		|| { echo 'error: expected the Rust tools rustfmt and clippy, found at least one missing' >&2; \
		     echo 'remedy: rustup component add rustfmt clippy' >&2; exit 1; }
