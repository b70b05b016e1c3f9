"""Run one of the maintainer's programs: ``python -m book_tools COMMAND [arguments]``.

The Makefile has a target for most of them. This file and ``environment/bootstrap.py`` use only the
standard library and syntax that old Python versions accept, because ``bootstrap`` must be able to
tell a user that the Python version is too old.
"""

import importlib
import sys

COMMANDS = (
    ("bootstrap", "environment.bootstrap", "create .venv and install what a make target needs"),
    ("build", "website.build", "execute changed chapters and build the book into _build/html"),
    ("test", "run_tests", "build the book, lint everything, and run tests"),
    ("lint", "lint", "check chapters, code style, and types without executing a chapter"),
    ("format", "format", "format the code, the chapters' cells, and the Predict boxes"),
    ("execute", "chapters.execute", "execute chapters and store their outputs"),
    ("solutions", "chapters.solutions", "copy the library's solutions into the chapters"),
    ("predictions", "chapters.predict_guessing", "order the Predict boxes, and try to guess them"),
    ("pages", "pages.write_pages", "write the generated reference pages"),
    ("tables", "pages.tables", "run the rows of the reference tables and write their pages"),
    ("assignments", "pages.assignments", "write the notebooks that students receive"),
    ("versions", "versions.run_versions", "run the book and its tests on other versions of JAX"),
    ("tools", "versions.compare_tools", "run other tools on the detectors' labeled cases"),
    ("bench", "benchmarking.run_benchmarks", "run the benchmarks and record their timings"),
    ("lock", "environment.lock", "compile requirements*.txt from requirements*.in"),
    ("map", "code_map", "draw the map of the code that CONTRIBUTING.md shows"),
    ("address", "website.set_repository_url", "set or remove the repository's address"),
    ("serve", "website.serve", "serve the built book on this machine"),
    ("pdf", "website.pdf", "print the built book to a PDF file"),
    ("slides", "slides.make_slides", "make lecture slides of the chapters as HTML and PDF"),
    ("teachers", "teachers.private_folder", "write solutions and wrong answers for teachers"),
    ("publish", "website.publish", "push the built book to the branch that GitHub Pages serves"),
    ("screenshots", "website.screenshots", "take screenshots of the built book"),
    ("social-image", "website.social_image", "draw the image shown next to links to the book"),
)


def usage():
    """Return the list of commands, one per line."""
    lines = ["usage: python -m book_tools COMMAND [arguments]", "", "commands:"]
    lines += ["  {0:<13} {1}".format(name, about) for name, _, about in COMMANDS]
    lines += ["", "Run a command with --help for its arguments."]
    return "\n".join(lines)


def main(arguments):
    """Run the command that the first argument names, and return its exit status."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(usage())
        return 0 if arguments else 2
    modules = dict((name, module) for name, module, _ in COMMANDS)
    if arguments[0] not in modules:
        message = "COMMAND must be one of {0}; got {1!r}\n"
        sys.stderr.write(message.format(", ".join(modules), arguments[0]))
        return 2
    # The programs, like argparse, read their arguments from sys.argv.
    sys.argv = ["python -m book_tools " + arguments[0]] + arguments[1:]
    # This import comes late, because most commands need packages that bootstrap installs first.
    return importlib.import_module("book_tools." + modules[arguments[0]]).main()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
