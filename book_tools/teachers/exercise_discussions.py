"""Write the solutions of a chapter's exercises, and what the check says about wrong answers."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from book_tools.chapters.chapter_files import ChapterFiles, read_source
from book_tools.chapters.solutions import imported_names
from book_tools.pages.html_utils import chapter_titles
from book_tools.slides.markdown import without_links
from book_tools.teachers.markdown_files import render_file
from jaxbits.book.exercises import get_exercise

# The tests keep right and wrong answers to the exercises of each chapter in a file.
ANSWERS = "tests/library/exercise_answers"


@dataclass(frozen=True)
class WrongAnswer:
    """A wrong answer to an exercise.

    Attributes:
        source: The answer's code.
        message: What `check` says about it, or a part of that.
    """

    source: str
    message: str


@dataclass(frozen=True)
class Discussion:
    """What a teacher needs to discuss an exercise.

    Attributes:
        id: The exercise's id, such as ``out-of-bounds/1``.
        heading: The heading in the chapter.
        task: The text of the task as Markdown.
        hints: The hints, in order.
        solution: The code of the book's solution.
        wrong: Wrong answers and what `check` says about them.
    """

    id: str
    heading: str
    task: str
    hints: tuple[str, ...]
    solution: str
    wrong: tuple[WrongAnswer, ...]


def discuss_exercises(stem: str, root: Path) -> str:
    """Return the discussion of a chapter's exercises as Markdown.

    Args:
        stem: The chapter's file name without its suffix.
        root: The project's folder.
    """
    return render_file(
        "exercises.md",
        title=chapter_titles(root)[stem],
        discussions=list(read_discussions(stem, root)),
    )


def read_discussions(stem: str, root: Path) -> Iterator[Discussion]:
    """Yield the discussion of each exercise of a chapter, in order."""
    notebook = read_source(ChapterFiles(root / "chapters" / f"{stem}.md"))
    known = imported_names(notebook)
    heading, task = "", ""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for part in re.split(r"^(?=### )", cell.source, flags=re.M):
                if found := re.match(r"### (\d+ · .+)", part):
                    heading, task = found[1], part[found.end() :].strip()
        elif checked := re.search(r'^check\("([^"]+)"', cell.source, re.M):
            exercise = get_exercise(checked[1])
            yield Discussion(
                id=exercise.id,
                heading=heading,
                task=without_links(task),
                hints=exercise.hints,
                solution=exercise.solution_source(known).strip(),
                wrong=tuple(_read_wrong_answers(exercise.id, root)),
            )


def _read_wrong_answers(id: str, root: Path) -> Iterator[WrongAnswer]:
    topic = id.partition("/")[0].replace("-", "_")
    path = root / ANSWERS / f"{topic}.py"
    module = _load(path)
    for answer, message in module.WRONG.get(id, ()):
        yield WrongAnswer(_source_of(answer, path), message)


def _load(path: Path) -> ModuleType:
    specification = importlib.util.spec_from_file_location(f"answers_{path.stem}", path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def _source_of(answer: Callable[..., Any], path: Path) -> str:
    """Return the code of an answer, preceded by the helper functions that it uses."""
    if not inspect.isfunction(answer):
        return str(getattr(answer, "__name__", repr(answer)))  # such as `list`
    text = path.read_text("utf8")
    tree = ast.parse(text)
    helpers = {one.name: one for one in tree.body if isinstance(one, ast.FunctionDef)}
    if answer.__name__ == "<lambda>":
        node: ast.AST = _find_lambda(answer, tree)
    else:
        node = ast.parse(textwrap.dedent(inspect.getsource(answer)))
        helpers.pop(answer.__name__, None)
    needed: list[str] = []
    _collect_helpers(node, helpers, needed)
    sources = [ast.get_source_segment(text, helpers[name]) or "" for name in needed]
    own = _lambda_source(text, node) if isinstance(node, ast.Lambda) else _function_source(answer)
    return "\n\n\n".join([*sources, own])


def _function_source(answer: Callable[..., Any]) -> str:
    return textwrap.dedent(inspect.getsource(answer)).strip()


def _find_lambda(answer: Callable[..., Any], tree: ast.Module) -> ast.Lambda:
    """Return the lambda in a module's syntax tree from which a function was created."""
    assert inspect.isfunction(answer)
    lambdas = [node for node in ast.walk(tree) if isinstance(node, ast.Lambda)]
    on_line = [node for node in lambdas if node.lineno == answer.__code__.co_firstlineno]
    # Lambdas on the same line differ in where their bodies are.
    places = {(line, column) for line, _, column, _ in answer.__code__.co_positions()}
    inner = [node for node in on_line if (node.body.lineno, node.body.col_offset) in places]
    return (inner or on_line)[0]


def _lambda_source(text: str, node: ast.Lambda) -> str:
    """Return the code of a lambda, with its later lines indented as if it began a line."""
    first, *rest = (ast.get_source_segment(text, node) or "").splitlines()
    line = text.splitlines()[node.lineno - 1]
    outer = len(line) - len(line.lstrip())
    later = [one[min(outer, len(one) - len(one.lstrip())) :] for one in rest]
    source = "\n".join([first, *later])
    try:
        ast.parse(source)
    except SyntaxError:  # In the file, the lines are inside other parentheses.
        return f"({source})"
    return source


def _collect_helpers(node: ast.AST, helpers: dict[str, ast.FunctionDef], needed: list[str]) -> None:
    """Append the names of the helpers that code uses to a list, those used by others first."""
    used = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    for name in sorted(used & set(helpers)):
        if name not in needed:
            _collect_helpers(helpers[name], helpers, needed)
            if name not in needed:
                needed.append(name)
