"""Right answers in notebooks that students, editors, and upload forms have left in a mess.

Each submission either gets full credit, or the feedback page says why it does not.
"""

from __future__ import annotations

import ast
import io
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import nbformat
from jaxbits_grader.authoring.cell_markers import solution_source, stub_source
from jaxbits_grader.notebook import nbgrader_metadata
from nbformat import NotebookNode

from corpus.expected import GRADED, GRADED_OR_FLAGGED, Content, Submission
from corpus.submission_builder import SubmissionBuilder, cell_by_grade_id, graded_cells

FLAGGED = frozenset({"flagged"})
UNREADABLE = frozenset({"unreadable"})
STUB_MESSAGE = "the answer is missing or unfinished"
NO_FUNCTION = "NameError before this check"
FAILED_CELL = r"your cell \S+ does not run"


@dataclass(frozen=True)
class _Mess:
    """A messy submission.

    Attributes:
        summary: What the submission contains.
        content: The notebook or the files.
        lost: The points that it loses.
        page: What the feedback page must say, as regular expressions.
        statuses: The acceptable statuses.
    """

    summary: str
    content: Content
    lost: float = 0
    page: tuple[str, ...] = ()
    statuses: frozenset[str] = GRADED_OR_FLAGGED


class _Answers:
    """Makes notebooks in which the answer to the first task is in a mess."""

    def __init__(self, builder: SubmissionBuilder) -> None:
        self.builder = builder
        self.first, self.name = builder.first_function()
        self.source = self.solution(self.first.id)
        self.stub = stub_source(builder.assignment.cell(self.first.id).source)

    def solution(self, task: str) -> str:
        """Return the right answer to a task."""
        return solution_source(self.builder.assignment.cell(task).source)

    def with_answer(self, source: str) -> NotebookNode:
        """Return a notebook with a different answer to the first task."""
        notebook = self.builder.right()
        cell_by_grade_id(notebook, self.first.id).source = source
        return notebook

    def beside_stub(self, *sources: str, above: bool = False) -> NotebookNode:
        """Return a notebook with new cells next to the first task's stub."""
        notebook = self.with_answer(self.stub)
        index = notebook.cells.index(cell_by_grade_id(notebook, self.first.id)) + (not above)
        notebook.cells[index:index] = [
            nbformat.v4.new_code_cell(source, id=f"new-{n}") for n, source in enumerate(sources)
        ]
        return notebook

    def below_tests(self, *sources: str, answer: str) -> NotebookNode:
        """Return a notebook with new cells below the first task's tests."""
        notebook = self.with_answer(answer)
        for source in sources:
            self.builder.insert(notebook, source, at=self.first.id)
        return notebook

    def with_cell(self, source: str, at: str = "start") -> NotebookNode:
        """Return a notebook with right answers and a new cell."""
        return self.builder.insert(self.builder.right(), source, at=at)

    def raising_first(self) -> str:
        """Return the right answer with the line that raises an error above it in each function."""
        lines = self.source.splitlines()
        functions = [n for n in ast.parse(self.source).body if isinstance(n, ast.FunctionDef)]
        for function in reversed(functions):
            line = function.body[0].end_lineno if ast.get_docstring(function) else function.lineno
            lines.insert(line or 0, "    raise NotImplementedError()")
        return "\n".join(lines)


def _places(answers: _Answers) -> Iterator[tuple[str, _Mess]]:
    """Yield notebooks whose answers are in the wrong places."""
    builder, lost = answers.builder, answers.first.total
    yield (
        "answer-below-tests",
        _Mess(
            "Answers a task in a new cell below its tests, above which the stub remains.",
            answers.below_tests(answers.source, answer=answers.stub),
            page=("answers found below their tests",),
        ),
    )
    everything = "\n\n\n".join(answers.solution(task.id) for task in builder.tasks)
    yield (
        "all-answers-at-end",
        _Mess(
            "Answers all tasks in one new cell at the end.",
            builder.insert(builder.blank(), everything),
            page=("answers found below their tests",),
        ),
    )
    merged = answers.with_answer(everything)
    rest = [task.id for task in builder.tasks if task.id != answers.first.id]
    merged.cells = [c for c in merged.cells if nbgrader_metadata(c).get("grade_id") not in rest]
    yield (
        "answers-merged",
        _Mess("Merges all answers into one cell.", merged, page=("answers that are in other",)),
    )
    merged = builder.blank()
    cell_by_grade_id(merged, answers.first.id).source = everything
    yield (
        "answers-merged-stubs-left",
        _Mess(
            "Writes all answers into the first cell, and leaves the stubs of the others below.",
            merged,
            builder.full_score - lost,
            (STUB_MESSAGE, r"above the cells? with .*, which defines?"),
        ),
    )
    yield (
        "answer-in-next-cell",
        _Mess(
            "Empties the answer's cell, and answers in the next one.",
            answers.beside_stub(answers.source),
        ),
    )
    split = answers.with_answer("# helpers\nhalf = 0.5")
    index = split.cells.index(cell_by_grade_id(split, answers.first.id)) + 1
    split.cells.insert(index, nbformat.v4.new_code_cell(answers.source, id="second-half"))
    yield "answer-split", _Mess("Splits an answer's cell in two.", split)
    yield (
        "answer-above-stub",
        _Mess(
            "Answers in a copy of the stub above the stub itself.",
            answers.beside_stub(answers.source, above=True),
            lost,
            (STUB_MESSAGE, r"above the cells? with .*, which defines?"),
        ),
    )
    tested = answers.with_answer(answers.stub)
    test = cell_by_grade_id(tested, next(iter(answers.first.points)))
    test.source = answers.source + "\n\n\n" + test.source
    yield (
        "answer-in-test-cell",
        _Mess("Answers in the cell of the test.", tested, page=("tests were changed",)),
    )
    yield (
        "helper-below",
        _Mess(
            "Runs its cells out of order: the answer's cell uses a name that a cell below defines.",
            answers.below_tests("SCALE = 1", answer=f"SCALE + 1\n{answers.source}"),
            lost,
            ("name 'SCALE' is not defined", FAILED_CELL),
        ),
    )
    yield (
        "cell-deleted",
        _Mess(
            "Has deleted the cell that defines a decorator.",
            answers.with_answer(
                f"{answers.source}\n\n\n{answers.name} = my_decorator({answers.name})"
            ),
            page=("name 'my_decorator' is not defined",),
        ),
    )


def _cell_types(answers: _Answers) -> Iterator[tuple[str, _Mess]]:
    """Yield notebooks with answers that are not code, or that contain leftovers."""
    lost = answers.first.total
    for name, summary, source, is_lost in (
        ("answer-as-text", "Turns an answer's cell into text.", answers.source, False),
        (
            "answer-as-formatted-text",
            "Turns an answer's cell into text and formats the code.",
            f"My answer:\n\n```python\n{answers.source}\n```",
            True,
        ),
    ):
        notebook = answers.with_answer(source)
        cell = cell_by_grade_id(notebook, answers.first.id)
        cell.cell_type = "markdown"
        del cell["outputs"], cell["execution_count"]
        page = ("cells had a different type", *(("SyntaxError", FAILED_CELL) if is_lost else ()))
        yield name, _Mess(summary, notebook, lost if is_lost else 0, page)
    yield (
        "raises-first",
        _Mess(
            "Writes an answer below the line that raises an error.",
            answers.with_answer(answers.raising_first()),
            lost,
            (STUB_MESSAGE,),
        ),
    )
    yield (
        "raises-last",
        _Mess(
            "Leaves the line that raises an error below the answer.",
            answers.with_answer(f"{answers.source}\n    raise NotImplementedError()"),
            statuses=GRADED,
        ),
    )
    yield (
        "raises-elsewhere",
        _Mess(
            "Has cells that raise an error.",
            answers.builder.insert(
                answers.with_cell("raise NotImplementedError()"), "assert 1 + 1 == 3, 'oops'"
            ),
            statuses=GRADED,
        ),
    )
    yield (
        "fails-below-answer",
        _Mess(
            "Has a check of its own in an answer's cell, which fails.",
            answers.with_answer(f"{answers.source}\n\n\nassert {answers.name} is None, 'hm'"),
            statuses=GRADED,
        ),
    )
    yield (
        "commented-out",
        _Mess(
            "Has commented out an answer.",
            answers.with_answer("".join(f"# {x}\n" for x in answers.source.splitlines())),
            lost,
            (NO_FUNCTION,),
        ),
    )


def _characters(answers: _Answers) -> Iterator[tuple[str, _Mess]]:
    """Yield notebooks with code that looks right but that Python cannot read."""
    source, name, lost = answers.source, answers.name, answers.first.total
    broken = {
        "half-typed": ("Ends an answer with a half-typed line.", f"{source}\n\nprint({name}("),
        "tabs-mixed": ("Mixes tabs and spaces.", f"{source}\n\n\nif True:\n\tx = 1\n        y = 2"),
        "no-break-spaces": ("Is pasted from a web page.", source.replace("    ", "\u00a0   ")),
        "mark-in-cell": ("Has a byte order mark in a cell.", f"\ufeff{source}"),
        "zero-width-space": ("Contains a zero-width space.", source.replace("(", "(\u200b", 1)),
        "smart-quotes": ("Is pasted from a word processor.", source.replace('"', "\u201d")),
        "conflict-in-cell": (
            "Contains the markers of a merge conflict.",
            f"<<<<<<< HEAD\n{source}\n=======\n{source}\n>>>>>>> laptop",
        ),
    }
    for student, (summary, text) in broken.items():
        page = ("(Syntax|Tab|Indentation)Error", FAILED_CELL)
        yield student, _Mess(summary, answers.with_answer(text), lost, page, GRADED)
    harmless = {
        "tabs": ("Indents with tabs.", source.replace("    ", "\t")),
        "long-line": ("Has a very long line.", f"{source}\n\n\nnotes = '{'so long ' * 9000}'"),
        "form-fields": ("Has a title and a form field.", f"#@title Mine\nx = 3  #@param\n{source}"),
        "timed": ("Measures how long an answer's cell takes.", f"%%time\n{source}"),
    }
    for student, (summary, text) in harmless.items():
        yield student, _Mess(summary, answers.with_answer(text), statuses=GRADED)


def _code(answers: _Answers) -> Iterator[tuple[str, _Mess]]:
    """Yield notebooks with code that conflicts with the assignment's cells."""
    builder, source, name = answers.builder, answers.source, answers.name
    lost = answers.first.total
    renamed = source.replace(f"def {name}(", f"def my_{name}(")
    yield (
        "function-renamed",
        _Mess(
            "Renames a function.",
            answers.with_answer(renamed),
            lost,
            (NO_FUNCTION, f"{name}.* is not defined"),
        ),
    )
    yield (
        "function-renamed-with-alias",
        _Mess(
            "Renames a function, and defines the old name in the next cell.",
            answers.beside_stub(renamed, f"{name} = my_{name}"),
        ),
    )
    returned = source.replace("    return ", "    print('the result is', end=' '); _ = ")
    yield (
        "prints-result",
        _Mess(
            "Prints the results instead of returning them.",
            answers.with_answer(returned),
            lost,
            ("Message: \\S",),
        ),
    )
    edited = builder.right()
    for cell in graded_cells(edited):
        cell.source = cell.source.replace("testing.assert_close(", "print(")
    yield (
        "tests-printed",
        _Mess("Replaces the checks with prints.", edited, page=("tests were changed",)),
    )
    for student, summary, code in (
        ("numpy-is-jax", "Imports JAX under NumPy's name.", "import jax.numpy as np"),
        ("loop-variable", "Has a loop variable with a module's name.", "for np in range(3): pass"),
        ("module-missing", "Imports a module that is not there.", "import seaborn_for_jax as sns"),
        ("asks-for-help", "Asks for help and for a source.", f"print?\nhelp({name})"),
        (
            "writes-module",
            "Writes a module in one cell and imports it in the same notebook.",
            "%%writefile my_helpers.py\ndef half(x):\n    return x / 2",
        ),
    ):
        at = answers.first.id
        notebook = answers.with_cell(code, at)
        if student == "writes-module":
            builder.insert(notebook, "from my_helpers import half\nprint(half(3))")
        yield student, _Mess(summary, notebook)
    yield (
        "module-missing-in-answer",
        _Mess(
            "An answer imports a module that is not there.",
            answers.with_answer(f"import seaborn_for_jax as sns\n{source}"),
            lost,
            ("seaborn_for_jax", FAILED_CELL),
        ),
    )


def _saved(builder: SubmissionBuilder, edit: Callable[[dict[str, Any]], object]) -> bytes:
    notebook = json.loads(json.dumps(builder.right()))
    edit(notebook)
    return json.dumps(notebook, indent=1).encode()


def _editors(builder: SubmissionBuilder) -> Iterator[tuple[str, _Mess]]:
    """Yield notebooks as editors save them."""

    def kaggle(notebook: dict[str, Any]) -> None:
        notebook["metadata"]["kaggle"] = {"accelerator": "none", "dataSources": []}
        notebook["metadata"]["papermill"] = {"duration": 31.4, "exception": None}
        notebook["nbformat_minor"] = 4
        for number, cell in enumerate(notebook["cells"]):
            del cell["id"]
            cell["metadata"] |= {"_uuid": f"{number:040x}", "trusted": True}
            cell["metadata"]["execution"] = {"iopub.execute_input": "2025-01-01T00:00:00Z"}

    def vs_code(notebook: dict[str, Any]) -> None:
        notebook["metadata"]["vscode"] = {"interpreter": {"hash": "31f2aee4e71d21fb"}}
        for number, cell in enumerate(notebook["cells"]):
            cell["id"] = f"{number:08x}"
            cell["metadata"]["vscode"] = {"languageId": "python"}

    def pycharm(notebook: dict[str, Any]) -> None:
        notebook["nbformat_minor"] = 0
        for cell in notebook["cells"]:
            del cell["id"]
            cell["metadata"] = {"collapsed": False, "pycharm": {"name": "#%%\n"}}

    def used(notebook: dict[str, Any]) -> None:
        trace = {"output_type": "error", "ename": "NameError", "evalue": "x", "traceback": ["x"]}
        for number, cell in enumerate(notebook["cells"]):
            if cell["cell_type"] == "code":
                cell["outputs"] = [trace]
                cell["execution_count"] = (number * 37) % 101

    def widgets(notebook: dict[str, Any]) -> None:
        kind = "application/vnd.jupyter.widget-"
        notebook["metadata"]["widgets"] = {f"{kind}state+json": {"state": {"a1": {}}}}
        view = {f"{kind}view+json": {"model_id": "a1"}, "text/plain": "100%"}
        cell = next(c for c in notebook["cells"] if c["cell_type"] == "code")
        cell["outputs"] = [{"output_type": "display_data", "data": view, "metadata": {}}]

    def image(notebook: dict[str, Any]) -> None:
        picture = {"shot.png": {"image/png": "iVBORw0KGgo="}}
        text = {"cell_type": "markdown", "id": "picture", "metadata": {}, "attachments": picture}
        notebook["cells"].append({**text, "source": ["![shot](attachment:shot.png)"]})

    lost = ("recognized by their text",)
    yield "kaggle", _Mess("Was saved by Kaggle.", _saved(builder, kaggle), statuses=GRADED)
    yield "vs-code", _Mess("Was saved by VS Code.", _saved(builder, vs_code), statuses=GRADED)
    yield "pycharm", _Mess("Was saved by PyCharm.", _saved(builder, pycharm), 0, lost, FLAGGED)
    yield "used", _Mess("Has old tracebacks.", _saved(builder, used), statuses=GRADED)
    yield "widgets", _Mess("Has a progress bar.", _saved(builder, widgets), statuses=GRADED)
    yield "screenshot", _Mess("Has a screenshot.", _saved(builder, image), statuses=GRADED)


def _zip(files: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def _files(builder: SubmissionBuilder) -> Iterator[tuple[str, _Mess]]:
    """Yield notebooks in files and folders as upload forms and students leave them."""
    right, blank = (json.dumps(n).encode() for n in (builder.right(), builder.blank()))
    name = f"{builder.assignment.name}.ipynb"
    mac = {f"hw/{name}": right, f"__MACOSX/hw/._{name}": b"\0\x05\x16\x07", "hw/.DS_Store": b"Bud1"}
    old = {name: right, f"{builder.assignment.name}-old.ipynb": blank}
    yield (
        "saved-as-text",
        _Mess("Was saved as text.", {f"{name}.txt": right}, statuses=FLAGGED),
    )
    yield "zip-from-mac", _Mess("A zip file from macOS.", {"hw.zip": _zip(mac)}, statuses=FLAGGED)
    yield (
        "zip-in-zip",
        _Mess(
            "A zip file in a zip file.",
            {"all.zip": _zip({"hw.zip": _zip({name: right})})},
            page=("all.zip contains no notebook, only hw.zip",),
            statuses=UNREADABLE,
        ),
    )
    yield (
        "zip-with-old",
        _Mess(
            "A zip file with an older attempt.",
            {"hw.zip": _zip(old)},
            page=("it is unclear which notebook to grade",),
            statuses=UNREADABLE,
        ),
    )
    yield (
        "nested",
        _Mess("Is in nested folders.", {f"week 3/final/{name}": right}, statuses=FLAGGED),
    )
    yield (
        "older-beside",
        _Mess("An older attempt beside it.", old, page=("was graded, not",), statuses=FLAGGED),
    )
    yield (
        "only-checkpoint",
        _Mess(
            "Only the checkpoint that Jupyter keeps.",
            {f".ipynb_checkpoints/{builder.assignment.name}-checkpoint.ipynb": right},
            page=("the folder contains no notebook",),
            statuses=UNREADABLE,
        ),
    )
    beside = {name: right, "report.pdf": b"%PDF-1.7", "data.csv": b"1,2\n", "helper.py": b"x = 1\n"}
    yield "files-beside", _Mess("Other files beside it.", beside, statuses=GRADED)


def submissions(builder: SubmissionBuilder) -> Iterator[Submission]:
    """Yield the submissions of this kind."""
    answers = _Answers(builder)
    parts = (_places, _cell_types, _characters, _code)
    found = [item for part in parts for item in part(answers)]
    found += [*_editors(builder), *_files(builder)]
    for student, mess in found:
        is_read = mess.statuses != UNREADABLE
        yield Submission(
            f"messy-{student}",
            "messy",
            mess.summary,
            mess.content,
            mess.statuses,
            builder.full_score - mess.lost if is_read else None,
            core=True,
            page=mess.page,
        )
