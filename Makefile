# What a newcomer types. Every target installs or builds what it needs first; `make help` lists them.

CARGO  ?= cargo
PREFIX ?= /usr/local
DESTDIR ?=
# Private items are documented too, so links to them lead somewhere.
DOC_FLAGS := -D warnings -A rustdoc::private_intra_doc_links
JOBS   := $(shell nproc 2>/dev/null || echo 2)
NUMAESTRO := target/release/numaestro
# A directory with a Makefile, if it is there yet: $(call made,DIRECTORY).
made = $(if $(wildcard $(1)/Makefile),+$(MAKE) -s -j$(JOBS) -C $(1))

.DEFAULT_GOAL := help

help:
	@echo "make demo                see on this machine what numaestro gains (under a minute after the build)"
	@echo "make test                install what the tests need, build, run the suites; ONLY=rust-pure for one, WHOLE=yes for all of them"
	@echo "make test-quick          the unit tests and those of the crates without processes: for work on a change"
	@echo "make test-fresh          in a new root of Debian: build, demo, install, use, uninstall; SUITE=\"bookworm trixie\" for other releases"
	@echo "make build               the commands, the client library and the load programs"
	@echo "make test-numa           boot guests with several NUMA nodes and test in them; BOOT=four ONLY=text for a part, ONLY=validate- for the simulator"
	@echo "make spank               the plugin of Slurm, for the Slurm that is here, in build/client/spank/"
	@echo "make test-slurm          what runs on a Slurm cluster: one is made of this host for each test"
	@echo "make test-containers     what runs in containers of Podman, and the manifests for Kubernetes"
	@echo "make test-suites         libgomp's and libomp's own test suites, all of them (long); SUITES_FLAGS=--help for a part"
	@echo "make test-faults         let every system call of manager, guard, run and shim fail once (hours)"
	@echo "make mutants             mutants of engine and contract that no test finds, where cargo-mutants is installed (hours)"
	@echo "make test-mpi            ranks of Open MPI and MPICH that lend to each other"
	@echo "make check               format, lints, the project's own checks, C warnings, documentation"
	@echo "make deny                compare the crates of others with deny.toml: sources, licences, advisories (cargo-deny)"
	@echo "make bench               measure the mixes of programs; BENCH_FLAGS=--quick for a short run"
	@echo "make repro               check in the simulator what the papers claim; REPRO_FLAGS=--quick for a short run"
	@echo "make sim-bench           how fast the simulator is on this machine (a minute)"
	@echo "make install PREFIX=DIR  install below DIR (default: $(PREFIX)); make uninstall undoes it"
	@echo "make deb                 the packages numaestro and numaestro-lab for Debian and Ubuntu in build/"
	@echo "make wheel               the command and the package for Python as one wheel in build/, for pip install"
	@echo "make clean               remove everything that was built"

## Building

rust:
	@scripts/check-rust.sh

packages: rust
	@scripts/install-packages.sh build

test-packages: rust
	@scripts/install-packages.sh $(if $(filter true,$(CI))$(filter yes,$(WHOLE)),all,test)

build: packages
	@$(MAKE) --no-print-directory laboratory client kernels

binaries:
	$(CARGO) build --release -p numaestro -p numaestro-manager

laboratory:
	$(CARGO) build --release -p numaestro -p numaestro-manager -p numaestro-lab

examples:
	$(CARGO) build --release -p numaestro-lab --examples

client:
	@$(call made,client)

kernels:
	@+$(MAKE) -s -j$(JOBS) -C kernels

test-programs:
	@$(call made,client/tests)
	@$(call made,client/torture)

venv:
	@scripts/python-venv.sh

## Seeing

demo: build
	$(NUMAESTRO) demo

bench: build examples venv
	$(NUMAESTRO) bench coexec $(BENCH_FLAGS)

repro: packages
	@$(MAKE) --no-print-directory laboratory
	$(NUMAESTRO) repro run $(REPRO_FLAGS)

sim-bench: packages
	@$(MAKE) --no-print-directory laboratory
	$(NUMAESTRO) sim bench

## Checking

test: test-packages
	@$(MAKE) --no-print-directory venv client spank kernels test-programs
	@ONLY='$(ONLY)' WHOLE='$(WHOLE)' scripts/run-tests.sh

test-quick: packages
	@scripts/run-tests.sh quick

# A machine on which nothing is installed: what a newcomer types, as root and as a user with sudo.
test-fresh: rust
	@scripts/install-packages.sh fresh
	@scripts/test-fresh.sh $(SUITE)

# Guests are emulated: they need no rights and no KVM. Where they cannot be, a line says so, and that they are skipped.
test-numa: packages
	@$(MAKE) --no-print-directory kernels laboratory
	@$(CARGO) build --quiet $(foreach program,numaestro-guest guest-inside guest-load,--bin $(program)) --workspace
	@target/debug/numaestro-guest test $(if $(BOOT),--boot $(BOOT)) $(if $(ONLY),--only $(ONLY)) $(GUEST_FLAGS) || [ $$? -eq 77 ]

spank:
	@+$(MAKE) -s -C client spank

# The runtimes' own programs, which are fetched, each alone and managed.
test-suites: test-packages
	@$(MAKE) --no-print-directory binaries client
	$(CARGO) xtask suites --command $(NUMAESTRO) $(or $(SUITES_FLAGS),--all)

# Every system call of manager, guard, `run` and shim fails once, in twelve stories: hours.
test-faults: test-packages
	@$(MAKE) --no-print-directory binaries client kernels test-programs
	NUMAESTRO_TEST_FAULTS=all $(CARGO) test --workspace --test nth_call -- --nocapture

mutants: rust
	@scripts/mutants.sh

# Ranks of MPI on this host, with each implementation that is here.
test-mpi: rust
	@scripts/install-packages.sh mpi
	@$(MAKE) --no-print-directory test-programs
	$(CARGO) test --workspace --test mpi -- --test-threads=1

test-slurm: rust
	@scripts/install-packages.sh slurm
	@$(MAKE) --no-print-directory client spank kernels
	$(CARGO) test --workspace --test slurm

# One test at a time: they look at who runs where.
test-containers: rust
	@scripts/install-packages.sh containers
	@$(MAKE) --no-print-directory venv client kernels
	$(CARGO) test --workspace --test containers -- --test-threads=1

check: packages
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(CARGO) xtask check
	@scripts/check-c.sh
	@$(MAKE) --no-print-directory kernels test-programs
	RUSTDOCFLAGS="$(DOC_FLAGS)" $(CARGO) doc --workspace --no-deps --document-private-items --quiet
	@echo "check: everything is in order"

# Crates of others: where they are from, their licences, advisories (with cargo-deny, if it is here).
deny: rust
	@scripts/check-supply.sh

## Installing

# By sudo in a user's clone nothing is built, only installed: root may have no Rust, and what it builds the user cannot change.
install: $(if $(shell [ -n "$$SUDO_USER" ] && [ ! -O . ] && echo sudo),,build)
	@scripts/install.sh install "$(PREFIX)" "$(DESTDIR)"

uninstall:
	@scripts/install.sh uninstall "$(PREFIX)" "$(DESTDIR)"

deb: packages
	@$(MAKE) --no-print-directory laboratory client
	@scripts/package-deb.sh

wheel: packages
	@$(MAKE) --no-print-directory binaries client
	@scripts/package-wheel.sh

clean:
	$(CARGO) clean
	rm -rf build

.PHONY: help rust packages test-packages build binaries laboratory examples client kernels test-programs venv demo bench repro sim-bench test test-quick test-fresh test-numa test-suites test-faults mutants spank test-slurm test-mpi \
        test-containers check deny install uninstall deb wheel clean
