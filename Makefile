# Every verb is a Python program under tools/; this file only names them. Without make: see README.md.

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
	@"$(PYTHON)" tools/bootstrap.py $(NAMED)

book: bootstrap  ## set up .venv, execute changed chapters, build the book into _build/html
	@$(VENV) tools/book.py

test: bootstrap  ## build the book and check everything: lint, unit tests, notebooks, pages
	@$(VENV) tools/check.py $(ARGS)

serve: book  ## show the book at a local address (PORT=8000)
	@$(VENV) tools/serve.py --port $(or $(PORT),8000)

pdf: book  ## print the whole book into _build/pdf/jax-sharp-bits.pdf
	@$(VENV) tools/pdf.py

named:  # before anything is installed
	@test -n "$(NAME)" || { echo "NAME must be a chapter, got nothing: make chapter NAME=04-out-of-bounds" >&2; exit 1; }

chapter: named bootstrap  ## execute one chapter: make chapter NAME=04-out-of-bounds
	@$(VENV) tools/execute.py "$(NAME)"

chapters: bootstrap  ## execute every chapter
	@$(VENV) tools/execute.py --all

solutions: bootstrap  ## write the library's solutions into the chapters, under their exercises
	@$(VENV) tools/solutions.py

lint: bootstrap  ## check stored chapters, code style and types, without running a chapter
	@$(VENV) tools/lint.py

format: bootstrap  ## format the code and the chapters' cells, order the options of Predict boxes
	@$(VENV) tools/format.py

versions: bootstrap  ## run chapters and tests on other versions of JAX, and say what differs
	@$(VENV) tools/versions.py $(ARGS)

bench: bootstrap  ## measure again what the recorded figures show
	@$(VENV) tools/bench.py $(ARGS)

tables: bootstrap  ## run the rows of the reference tables again, in .envs too, and write their pages
	@$(VENV) tools/tables.py --elsewhere

assignments: bootstrap  ## write the notebooks that students get, from the assignments' sources
	@$(VENV) tools/assignments.py

lock: bootstrap  ## write requirements.txt from what .venv holds
	@$(VENV) tools/lock.py

address: bootstrap  ## say where the project lives: make address URL=https://github.com/owner/name, or URL=none
	@$(VENV) tools/address.py "$(URL)"

clean:  ## remove what was built
	rm -rf _build build dist .pytest_cache .mypy_cache .ruff_cache
	find . -name __pycache__ -not -path './.venv/*' -not -path './.envs/*' -prune -exec rm -rf {} +

distclean: clean  ## remove the environments too
	rm -rf .venv .envs
