"""Check that the cells of chapter 15 contain the same code as `jaxbits.xor`."""

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


class _ChapterForm(ast.NodeTransformer):
    """Remove docstrings, annotations, and argument checks, which the chapter omits."""

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
        # Keep annotated fields, because Flax creates a module's fields from them.
        if isinstance(node.target, ast.Name) or node.value is None:
            return node
        return ast.Assign([node.target], node.value)


def chapter_form(definition: Definition) -> str:
    return ast.unparse(ast.fix_missing_locations(_ChapterForm().visit(definition)))


def definitions(source: str) -> dict[str, str]:
    """Return the public functions and classes in a module's source, as the chapter shows them."""
    return {
        node.name: chapter_form(node)
        for node in ast.parse(source).body
        if isinstance(node, Definition) and not node.name.startswith("_")
    }


def library_definitions() -> dict[str, str]:
    found: dict[str, str] = {}
    for module in (data, model, training, checkpoints):
        found |= definitions(inspect.getsource(module))
    return found


def visible_definitions(notebook: nbformat.NotebookNode) -> dict[str, str]:
    """Return the first definition of each name in the visible cells before the exercises."""
    found: dict[str, str] = {}
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and "\n## Exercises" in f"\n{cell.source}":
            break
        if cell.cell_type != "code" or HIDDEN & set(cell.metadata.get("tags", ())):
            continue
        lines = [
            line for line in cell.source.splitlines() if not line.lstrip().startswith(("%", "!"))
        ]
        try:
            found = definitions("\n".join(lines)) | found
        except SyntaxError:  # The cell demonstrates a syntax error.
            continue
    return found


def differences(notebook: nbformat.NotebookNode) -> dict[str, str]:
    """Return the definitions that the chapter lacks or changes, keyed by name."""
    visible = visible_definitions(notebook)
    return {
        name: f"library:\n{code}\n\nchapter:\n{visible.get(name, 'no visible definition')}"
        for name, code in library_definitions().items()
        if visible.get(name) != code
    }


@pytest.fixture(scope="module")
def chapter() -> nbformat.NotebookNode:
    return nbformat.read(CHAPTER, as_version=4)


@pytest.mark.parametrize("name", library_definitions())
def test_chapter_shows_library_code(chapter, name):
    difference = differences(chapter).get(name)
    assert difference is None, difference


def library_notebook() -> nbformat.NotebookNode:
    """Return a notebook with a cell for each definition in the library."""
    return nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(code) for code in library_definitions().values()]
    )


def test_differences_ignores_annotations_docstrings_checks():
    assert len(library_definitions()) == 16
    assert differences(library_notebook()) == {}
    for code in library_definitions().values():
        assert '"""' not in code
        assert "->" not in code
        assert "check_" not in code


def find_cell(notebook, name):
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
def test_differences_finds_changed_statement(name, old, new):
    notebook = library_notebook()
    cell = find_cell(notebook, name)
    changed = f"{cell.source}\n".replace(old, new)
    assert changed != f"{cell.source}\n"
    cell.source = changed
    assert list(differences(notebook)) == [name]


@pytest.mark.parametrize("tag", sorted(HIDDEN))
def test_differences_ignores_hidden_definition(tag):
    notebook = library_notebook()
    find_cell(notebook, "save").metadata["tags"] = [tag]
    assert list(differences(notebook)) == ["save"]


def test_differences_ignores_later_or_exercise_definition():
    notebook = library_notebook()
    notebook.cells.append(nbformat.v4.new_code_cell("def train(state):\n    return state"))
    assert differences(notebook) == {}
    save = find_cell(notebook, "save")
    notebook.cells.remove(save)
    notebook.cells += [nbformat.v4.new_markdown_cell("# Chapter\n\n## Exercises"), save]
    assert list(differences(notebook)) == ["save"]
