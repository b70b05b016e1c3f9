# Every verb is a command of the package book_tools; this file only names them. Without make: see README.md.

# The Python to make .venv with: the one whose outputs are compared exactly, where there is one.
PYTHON ?= $(shell python3.11 -c 'print("python3.11")' 2>/dev/null || echo python3)
NAMED := $(if $(filter command environment,$(firstword $(origin PYTHON))),--remake)
VENV := .venv/bin/python

.DEFAULT_GOAL := help
.PHONY: help named bootstrap book test serve pdf chapter chapters solutions lint format versions bench tables assignments lock address clean distclean

help:  ## list the verbs
	@sed -n 's/^\([a-z]*\):.*## /\1|/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "  make %-10s %s\n", $$1, $$2}'

bootstrap:
	@command -v "$(PYTHON)" >/dev/null 2>&1 || { \
	  echo "There is no $(PYTHON) here: install Python 3.11 or newer, or say where it is: make PYTHON=/path/to/python3 ..." >&2; exit 1; }
	@"$(PYTHON)" -m book_tools bootstrap $(NAMED)

book: bootstrap  ## set up .venv, execute changed chapters, build the book into _build/html
	@$(VENV) -m book_tools build

test: bootstrap  ## build the book and check everything: lint, unit tests, notebooks, pages
	@$(VENV) -m book_tools test $(ARGS)

serve: book  ## show the book at a local address (PORT=8000)
	@$(VENV) -m book_tools serve --port $(or $(PORT),8000)

pdf: book  ## print the whole book into _build/pdf/jax-sharp-bits.pdf
	@$(VENV) -m book_tools pdf

named:  # before anything is installed
	@test -n "$(NAME)" || { echo "NAME must be a chapter, got nothing: make chapter NAME=04-out-of-bounds" >&2; exit 1; }

chapter: named bootstrap  ## execute one chapter: make chapter NAME=04-out-of-bounds
	@$(VENV) -m book_tools execute "$(NAME)"

chapters: bootstrap  ## execute every chapter
	@$(VENV) -m book_tools execute --all

solutions: bootstrap  ## write the library's solutions into the chapters, under their exercises
	@$(VENV) -m book_tools solutions

lint: bootstrap  ## check stored chapters, code style and types, without running a chapter
	@$(VENV) -m book_tools lint

format: bootstrap  ## format the code and the chapters' cells, order the options of Predict boxes
	@$(VENV) -m book_tools format

versions: bootstrap  ## run chapters and tests on other versions of JAX, and say what differs
	@$(VENV) -m book_tools versions $(ARGS)

bench: bootstrap  ## measure again what the recorded figures show
	@$(VENV) -m book_tools bench $(ARGS)

tables: bootstrap  ## run the rows of the reference tables again, in .envs too, and write their pages
	@$(VENV) -m book_tools tables --elsewhere

assignments: bootstrap  ## write the notebooks that students get, from the assignments' sources
	@$(VENV) -m book_tools assignments

lock: bootstrap  ## write requirements.txt from what .venv holds
	@$(VENV) -m book_tools lock

address: bootstrap  ## say where the project lives: make address URL=https://github.com/owner/name, or URL=none
	@$(VENV) -m book_tools address "$(URL)"

clean:  ## remove what was built
	rm -rf _build build dist .pytest_cache .mypy_cache .ruff_cache
	find . -name __pycache__ -not -path './.venv/*' -not -path './.envs/*' -prune -exec rm -rf {} +

distclean: clean  ## remove the environments too
	rm -rf .venv .envs
