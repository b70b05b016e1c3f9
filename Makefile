# Each target runs a command of the package book_tools; `python -m book_tools` lists them. README.md
# shows how to run them without make.

# The Python that creates .venv: 3.11, whose outputs are compared exactly, if it is installed.
PYTHON ?= $(shell python3.11 -c 'print("python3.11")' 2>/dev/null || echo python3)
# Create .venv again if the user names a Python and .venv has another one.
REMAKE := $(if $(filter command environment,$(firstword $(origin PYTHON))),--remake)
BOOTSTRAP = "$(PYTHON)" -m book_tools bootstrap $(REMAKE)
RUN := .venv/bin/python -m book_tools
# The index that PyTorch is installed from; by default, pip's own.
export TORCH_INDEX

.DEFAULT_GOAL := help
.PHONY: help python chapter-name book-packages all-packages book test test-all test-grader serve pdf \
  chapter chapters solutions lint format versions bench tables assignments slides teachers lock address clean distclean

help:  ## list the targets
	@echo "Targets that build the book (they install about 1 GB into .venv the first time):"
	@sed -n 's/^\([a-z-]*\):.*book-packages.*## /\1|/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "  make %-12s %s\n", $$1, $$2}'
	@echo "Targets that also execute code (they install 2.4 GB; see TORCH_INDEX below):"
	@sed -n 's/^\([a-z-]*\):.*all-packages.*## /\1|/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "  make %-12s %s\n", $$1, $$2}'
	@echo "Targets that only remove files:"
	@sed -n 's/^\([a-z]*clean\):.*## /\1|/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "  make %-12s %s\n", $$1, $$2}'
	@echo "Variables:"
	@echo "  PYTHON=python3.12                                   the Python that creates .venv"
	@echo "  TORCH_INDEX=https://download.pytorch.org/whl/cpu    where PyTorch comes from (here: the CPU build)"

python:
	@command -v "$(PYTHON)" >/dev/null 2>&1 || { \
	  echo "PYTHON must be Python 3.11 or newer, got $(PYTHON), which is not installed: make PYTHON=/path/to/python3 ..." >&2; exit 1; }

book-packages: python
	@$(BOOTSTRAP) book

all-packages: python
	@$(BOOTSTRAP) all

book: book-packages  ## build the book into _build/html, and execute chapters whose text has changed
	@$(RUN) build

serve: book-packages book  ## build the book and serve it on this machine (PORT=8000)
	@$(RUN) serve --port $(or $(PORT),8000)

address: book-packages  ## set the repository's address: URL=https://github.com/owner/name, or URL=none
	@$(RUN) address "$(URL)"

test: all-packages  ## run the gate: what every change must pass, in about 10 minutes (ARGS for pytest)
	@$(RUN) test $(ARGS)

test-all: all-packages  ## run all other tests: sweeps, mutations, versions, and the grader's tests
	@$(RUN) test --all $(ARGS)

test-grader: all-packages  ## run only the grader's tests
	@$(RUN) test --grader $(ARGS)

chapter-name:  # Checked before anything is installed.
	@test -n "$(NAME)" || { echo "NAME must be a chapter, got nothing: make chapter NAME=04-out-of-bounds" >&2; exit 1; }

chapter: chapter-name all-packages  ## execute one chapter and store its outputs: NAME=04-out-of-bounds
	@$(RUN) execute "$(NAME)"

chapters: all-packages  ## execute every chapter
	@$(RUN) execute --all

solutions: all-packages  ## copy the library's solutions into the chapters
	@$(RUN) solutions

lint: all-packages  ## check chapters, code style, and types without executing a chapter
	@$(RUN) lint

format: all-packages  ## format the code, the chapters' cells, and the Predict boxes
	@$(RUN) format

pdf: all-packages book  ## print the book to _build/pdf/jax-sharp-bits.pdf
	@$(RUN) pdf

assignments: all-packages  ## write the students' notebooks from the sources in assignments/
	@$(RUN) assignments

slides: all-packages  ## make lecture slides of all chapters in _build/slides (ARGS=04-out-of-bounds)
	@$(RUN) slides $(ARGS)

teachers: all-packages  ## write solutions and wrong answers to teachers/, which Git ignores (ARGS)
	@$(RUN) teachers $(ARGS)

versions: all-packages  ## run chapters and tests on other versions of JAX, and show what differs
	@$(RUN) versions $(ARGS)

bench: all-packages  ## run the benchmarks behind the recorded timings again
	@$(RUN) bench $(ARGS)

tables: all-packages  ## run the rows of the reference tables again, and write their pages
	@$(RUN) tables --elsewhere

lock: all-packages  ## compile requirements*.txt (ARGS="--upgrade-package jax")
	@$(RUN) lock $(ARGS)

clean:  ## remove everything that was built
	rm -rf _build build dist .pytest_cache .mypy_cache .ruff_cache
	find . -name __pycache__ -not -path './.venv/*' -not -path './.envs/*' -prune -exec rm -rf {} +

distclean: clean  ## remove the environments as well
	rm -rf .venv .envs
