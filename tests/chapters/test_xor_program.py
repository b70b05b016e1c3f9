"""Chapter 15 shows the program of `jaxbits.xor`: its cells and the library hold the same code."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import nbformat
import pytest

from jaxbits.xor import _arguments, checkpoints, data, model, training

CHAPTER = Path(__file__).resolve().parents[2] / "chapters" / "15-xor-classifier.ipynb"
HIDDEN = {"hide-input", "hide-cell", "remove-input", "remove-cell"}
CHECKS = {name for name, value in vars(_arguments).items() if inspect.isfunction(value)}
Definition = ast.FunctionDef | ast.ClassDef


class _AsShown(ast.NodeTransformer):
    """Removes docstrings, annotations, and bare calls of the checks."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return None
        call = node.value
        is_check = isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
        return None if is_check and call.func.id in CHECKS else node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        node.returns = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        # The fields of a Flax module are annotations that its class is made of.
        if isinstance(node.target, ast.Name) or node.value is None:
            return node
        return ast.Assign([node.target], node.value)


def as_shown(definition: Definition) -> str:
    return ast.unparse(ast.fix_missing_locations(_AsShown().visit(definition)))


def definitions(source: str) -> dict[str, str]:
    """The public functions and classes that a source defines, as a reader would type them."""
    return {
        node.name: as_shown(node)
        for node in ast.parse(source).body
        if isinstance(node, Definition) and not node.name.startswith("_")
    }


def library() -> dict[str, str]:
    found: dict[str, str] = {}
    for module in (data, model, training, checkpoints):
        found |= definitions(inspect.getsource(module))
    return found


def visible(notebook: nbformat.NotebookNode) -> dict[str, str]:
    """What the visible cells before the exercises define; of two definitions, the first."""
    found: dict[str, str] = {}
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and "\n## Exercises" in f"\n{cell.source}":
            break
        if cell.cell_type != "code" or HIDDEN & set(cell.metadata.get("tags", ())):
            continue
        lines = [x for x in cell.source.splitlines() if not x.lstrip().startswith(("%", "!"))]
        try:
            found = definitions("\n".join(lines)) | found
        except SyntaxError:  # a cell that shows one
            continue
    return found


def differences(notebook: nbformat.NotebookNode) -> dict[str, str]:
    """What the chapter lacks, and what it defines in another way, by name."""
    shown = visible(notebook)
    return {
        name: f"library:\n{code}\n\nchapter:\n{shown.get(name, 'no visible definition')}"
        for name, code in library().items()
        if shown.get(name) != code
    }


@pytest.fixture(scope="module")
def chapter() -> nbformat.NotebookNode:
    return nbformat.read(CHAPTER, as_version=4)


@pytest.mark.parametrize("name", library())
def test_the_chapter_shows_the_code_of_the_library(chapter, name):
    difference = differences(chapter).get(name)
    assert difference is None, difference


def program() -> nbformat.NotebookNode:
    """A notebook with a cell for each definition, as a chapter would hold them."""
    return nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(code) for code in library().values()]
    )


def test_annotations_docstrings_and_checks_are_no_difference():
    assert len(library()) == 16
    assert differences(program()) == {}
    for code in library().values():
        assert '"""' not in code
        assert "->" not in code
        assert "check_" not in code


def cell_of(notebook, name):
    return next(c for c in notebook.cells if name in definitions(c.source))


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("XorData", "std=0.1", "std=0.2"),
        ("XorData", "bits[:, 0] ^ bits[:, 1]", "bits[:, 0] | bits[:, 1]"),
        ("train_loader", "drop_last=True, ", ""),
        ("Classifier", "width: int = 8", "width: int = 16"),
        ("Classifier", "@nn.compact", "@nn.nowrap"),
        ("train_step", "@jax.jit\n", ""),
        ("train", "manual_seed(epoch)", "manual_seed(0)"),
        ("evaluate", "len(labels) * ", ""),
        ("nnx_train_step", "return loss\n", "return loss_of(model)\n"),
        ("restore", "state):", "state=None):"),
    ],
)
def test_a_change_of_one_statement_is_seen(name, old, new):
    notebook = program()
    cell = cell_of(notebook, name)
    changed = f"{cell.source}\n".replace(old, new)
    assert changed != f"{cell.source}\n"
    cell.source = changed
    assert list(differences(notebook)) == [name]


@pytest.mark.parametrize("tag", sorted(HIDDEN))
def test_a_hidden_definition_does_not_count(tag):
    notebook = program()
    cell_of(notebook, "save").metadata["tags"] = [tag]
    assert list(differences(notebook)) == ["save"]


def test_neither_a_later_definition_nor_one_of_an_exercise_counts():
    notebook = program()
    notebook.cells.append(nbformat.v4.new_code_cell("def train(state):\n    return state"))
    assert differences(notebook) == {}
    save = cell_of(notebook, "save")
    notebook.cells.remove(save)
    notebook.cells += [nbformat.v4.new_markdown_cell("# Chapter\n\n## Exercises"), save]
    assert list(differences(notebook)) == ["save"]
