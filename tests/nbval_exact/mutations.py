"""Define mutations, each of which introduces a fault into a stored notebook.

Each mutation changes a notebook in place and returns True if it found something to change.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

import nbformat
from nbformat import NotebookNode

from book_tools.chapters.folding import fold, without_title

GROUPS = {
    "outputs": "A stored output must be what the cell prints or shows. Only `compare` checks this.",
    "errors": "A stored error must be the one that the cell raises. Only `compare` checks this.",
    "execution": "Every cell must have been executed once, in order.",
    "edits": "The notebook must match its source text, without edits of its own.",
    "switches": "No tag, comment, or semicolon may keep an output from being compared.",
    "errors announced": "A cell that raises an error must announce it with the right class.",
    "readers": "A cell must work in Colab, show no local path, and describe its figures.",
}


class Mutation(NamedTuple):
    """A way to change a notebook.

    Attributes:
        apply: Changes a notebook in place, and returns True if it found something to change.
        in_source: Whether the chapter's source is changed in the same way, so that comparing the
            source with the notebook does not reveal the mutation.
        group: The rule that the mutation breaks, as a key of `GROUPS`.
        in_gate: Whether the fast tests apply it. The slow tests apply every mutation.
    """

    apply: Callable[[NotebookNode], bool]
    in_source: bool
    group: str
    in_gate: bool


ALL: dict[str, Mutation] = {}


def mutation(
    group: str, *, in_source: bool = False, in_gate: bool = False
) -> Callable[[Callable[[NotebookNode], bool]], Callable[[NotebookNode], bool]]:
    """Return a decorator that adds a function to `ALL` under its name."""
    assert group in GROUPS

    def add(apply: Callable[[NotebookNode], bool]) -> Callable[[NotebookNode], bool]:
        ALL[apply.__name__] = Mutation(apply, in_source, group, in_gate)
        return apply

    return add


def code(notebook: NotebookNode) -> list[NotebookNode]:
    """Return the code cells of a notebook."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def _outputs(notebook: NotebookNode, *kinds: str) -> Iterator[NotebookNode]:
    for cell in code(notebook):
        for output in cell.outputs:
            if output.output_type in kinds:
                yield output


def _first_output(notebook: NotebookNode, *kinds: str) -> NotebookNode | None:
    return next(_outputs(notebook, *kinds), None)


def _output_with_data(notebook: NotebookNode, kind: str) -> NotebookNode | None:
    outputs = _outputs(notebook, "execute_result", "display_data")
    return next((output for output in outputs if kind in output.data), None)


def _cell_with_outputs(notebook: NotebookNode, minimum: int = 1) -> NotebookNode | None:
    return next((cell for cell in code(notebook) if len(cell.outputs) >= minimum), None)


def _refold(cell: NotebookNode, source: str | None = None, tags: list[str] | None = None) -> None:
    """Set a cell's source and tags, and fold the cell as the tags require."""
    cell.source = without_title(cell.source) if source is None else source
    cell.metadata = nbformat.from_dict({"tags": tags} if tags else {})
    fold(cell)


@mutation("outputs", in_gate=True)
def changed_printed_number(notebook: NotebookNode) -> bool:
    for output in _outputs(notebook, "stream"):
        if re.search(r"\d", output.text):
            output.text = re.sub(r"\d", lambda m: str((int(m[0]) + 1) % 10), output.text, count=1)
            return True
    return False


@mutation("outputs")
def changed_result(notebook: NotebookNode) -> bool:
    output = _output_with_data(notebook, "text/plain")
    if output:
        output.data["text/plain"] += " "
    return output is not None


@mutation("outputs")
def changed_html_table(notebook: NotebookNode) -> bool:
    output = _output_with_data(notebook, "text/html")
    if output:
        output.data["text/html"] += "<br>"
    return output is not None


@mutation("outputs", in_gate=True)
def changed_svg(notebook: NotebookNode) -> bool:
    output = _output_with_data(notebook, "image/svg+xml")
    if output:
        output.data["image/svg+xml"] = output.data["image/svg+xml"].replace("</svg>", "<g/></svg>")
    return output is not None


@mutation("readers")
def svg_without_description(notebook: NotebookNode) -> bool:
    output = _output_with_data(notebook, "image/svg+xml")
    if output:
        svg = output.data["image/svg+xml"]
        output.data["image/svg+xml"] = re.sub(r'aria-label="[^"]*"', 'aria-label=" "', svg)
    return output is not None


@mutation("readers")
def svg_without_role(notebook: NotebookNode) -> bool:
    output = _output_with_data(notebook, "image/svg+xml")
    if output:
        output.data["image/svg+xml"] = output.data["image/svg+xml"].replace(' role="img"', "", 1)
    return output is not None


@mutation("execution", in_gate=True)
def unexecuted_cell(notebook: NotebookNode) -> bool:
    cell = _cell_with_outputs(notebook)
    if cell:
        cell.execution_count, cell.outputs = None, []
    return cell is not None


@mutation("execution")
def unexecuted_notebook(notebook: NotebookNode) -> bool:
    for cell in code(notebook):
        cell.execution_count, cell.outputs = None, []
    return True


@mutation("execution", in_gate=True)
def cell_executed_twice(notebook: NotebookNode) -> bool:
    code(notebook)[-1].execution_count += 1
    return True


@mutation("execution")
def result_from_another_run(notebook: NotebookNode) -> bool:
    output = _first_output(notebook, "execute_result")
    if output:
        output.execution_count += 1
    return output is not None


@mutation("errors", in_gate=True)
def changed_traceback_code(notebook: NotebookNode) -> bool:
    error = _first_output(notebook, "error")
    if error:
        error.traceback[2] = "Cell In[1], line 1\n----> 1 nonsense()\n"
    return error is not None


@mutation("errors")
def changed_traceback_line_number(notebook: NotebookNode) -> bool:
    for error in _outputs(notebook, "error"):
        for number, entry in enumerate(error.traceback):
            if "-> " in entry:
                error.traceback[number] = re.sub(r"-> (\d)", r"-> 9\1", entry, count=1)
                return True
    return False


@mutation("errors")
def changed_hidden_frame_count(notebook: NotebookNode) -> bool:
    for error in _outputs(notebook, "error"):
        for number, entry in enumerate(error.traceback):
            if "… " in entry and " frame" in entry:
                error.traceback[number] = entry.replace("… ", "… 9", 1)
                return True
    return False


@mutation("errors")
def removed_traceback_frame(notebook: NotebookNode) -> bool:
    error = _first_output(notebook, "error")
    if error:
        del error.traceback[-2]
    return error is not None


@mutation("errors")
def changed_error_class(notebook: NotebookNode) -> bool:
    error = _first_output(notebook, "error")
    if error:
        error.ename = "KeyError"
    return error is not None


@mutation("errors", in_gate=True)
def changed_error_message(notebook: NotebookNode) -> bool:
    error = _first_output(notebook, "error")
    if error:
        error.evalue = error.evalue[:-1] + "?"
    return error is not None


@mutation("errors", in_gate=True)
def removed_error(notebook: NotebookNode) -> bool:
    for cell in code(notebook):
        kept = [output for output in cell.outputs if output.output_type != "error"]
        if len(kept) < len(cell.outputs):
            cell.outputs = kept
            return True
    return False


@mutation("outputs", in_gate=True)
def reversed_outputs(notebook: NotebookNode) -> bool:
    cell = _cell_with_outputs(notebook, 2)
    if cell:
        cell.outputs.reverse()
    return cell is not None


@mutation("outputs", in_gate=True)
def result_stored_as_display_data(notebook: NotebookNode) -> bool:
    output = _first_output(notebook, "execute_result")
    if output:
        output.output_type = "display_data"
        del output["execution_count"]
    return output is not None


@mutation("outputs")
def changed_stream_name(notebook: NotebookNode) -> bool:
    output = _first_output(notebook, "stream")
    if output:
        output.name = "stderr" if output.name == "stdout" else "stdout"
    return output is not None


@mutation("outputs", in_gate=True)
def removed_output(notebook: NotebookNode) -> bool:
    cell = _cell_with_outputs(notebook)
    if cell:
        del cell.outputs[-1]
    return cell is not None


@mutation("outputs")
def added_output(notebook: NotebookNode) -> bool:
    cell = code(notebook)[0]
    cell.outputs.append(nbformat.v4.new_output("stream", name="stdout", text="hello\n"))
    return True


@mutation("outputs")
def removed_mime_type(notebook: NotebookNode) -> bool:
    for output in _outputs(notebook, "execute_result", "display_data"):
        if len(output.data) > 1:
            del output.data["text/plain"]
            return True
    return False


@mutation("outputs")
def failed_magic(notebook: NotebookNode) -> bool:
    output = _first_output(notebook, "stream")
    if output:
        output.text = "UsageError: Line magic function `%nothing` not found.\n"
    return output is not None


@mutation("readers", in_gate=True)
def machine_path(notebook: NotebookNode) -> bool:
    output = _first_output(notebook, "stream")
    if output:
        output.text += "saved to /home/me/book/model\n"
    return output is not None


@mutation("readers", in_gate=True)
def failed_claim(notebook: NotebookNode) -> bool:
    for output in _outputs(notebook, "display_data"):
        if 'class="claims"' in output.data.get("text/html", ""):
            for kind, text in output.data.items():
                output.data[kind] = "✗".join(text.rsplit("✓", 1))
            return True
    return False


@mutation("outputs")
def kept_color_codes(notebook: NotebookNode) -> bool:
    output = _output_with_data(notebook, "text/plain")
    if output:
        output.data["text/plain"] = f"\x1b[35m{output.data['text/plain']}\x1b[39m"
    return output is not None


@mutation("edits", in_gate=True)
def edited_code(notebook: NotebookNode) -> bool:
    code(notebook)[-1].source += "\nx = 1"
    return True


@mutation("edits")
def edited_markdown(notebook: NotebookNode) -> bool:
    next(c for c in notebook.cells if c.cell_type == "markdown").source += " More."
    return True


@mutation("edits")
def removed_raises_tag(notebook: NotebookNode) -> bool:
    for cell in code(notebook):
        if "raises-exception" in cell.metadata.get("tags", []):
            kept = [tag for tag in cell.metadata.pop("tags") if tag != "raises-exception"]
            if kept:
                cell.metadata["tags"] = kept
            return True
    return False


@mutation("edits")
def removed_fold(notebook: NotebookNode) -> bool:
    folded = [cell for cell in code(notebook) if "jupyter" in cell.metadata]
    for cell in folded[-1:]:
        del cell.metadata["jupyter"]
    return bool(folded)


@mutation("edits")
def changed_fold_title(notebook: NotebookNode) -> bool:
    folded = [cell for cell in code(notebook) if "cellView" in cell.metadata]
    for cell in folded[-1:]:
        cell.source = "#@title Nothing to see\n" + without_title(cell.source)
    return bool(folded)


@mutation("edits", in_gate=True)
def removed_cell(notebook: NotebookNode) -> bool:
    del notebook.cells[-1]
    return True


@mutation("edits")
def swapped_cells(notebook: NotebookNode) -> bool:
    notebook.cells[-2:] = notebook.cells[:-3:-1]
    return True


@mutation("switches", in_source=True, in_gate=True)
def check_disabled_by_tag(notebook: NotebookNode) -> bool:
    cell = code(notebook)[-1]
    cell.metadata["tags"] = [*cell.metadata.get("tags", []), "nbval-ignore-output"]
    return True


@mutation("switches", in_source=True)
def check_disabled_by_comment(notebook: NotebookNode) -> bool:
    code(notebook)[-1].source += "\n# NBVAL_SKIP"
    return True


@mutation("errors announced", in_source=True, in_gate=True)
def untagged_error(notebook: NotebookNode) -> bool:
    return removed_raises_tag(notebook)


@mutation("errors announced", in_source=True)
def wrong_raises_comment(notebook: NotebookNode) -> bool:
    for cell in code(notebook):
        if "# raises: " in cell.source:
            cell.source = re.sub(r"# raises: \w+", "# raises: KeyError", cell.source)
            return True
    return False


@mutation("errors announced", in_source=True)
def missing_raises_comment(notebook: NotebookNode) -> bool:
    for cell in code(notebook):
        if "# raises: " in cell.source:
            cell.source = re.sub(r"# raises: \w+\n?", "", cell.source)
            return True
    return False


@mutation("switches", in_source=True)
def trailing_semicolon(notebook: NotebookNode) -> bool:
    code(notebook)[-1].source += ";"
    return True


@mutation("readers", in_source=True)
def changed_setup_cell(notebook: NotebookNode) -> bool:
    code(notebook)[0].source += "\nimport os"
    return True


@mutation("readers", in_source=True)
def visible_setup_cell(notebook: NotebookNode) -> bool:
    _refold(code(notebook)[0])
    return True


@mutation("readers", in_source=True)
def shell_command(notebook: NotebookNode) -> bool:
    code(notebook)[-1].source += "\n!ls"
    return True


@mutation("readers", in_source=True)
def overlong_cell(notebook: NotebookNode) -> bool:
    cell = code(notebook)[-1]
    _refold(cell, "x = 1\n" * 15 + "x", cell.metadata.get("tags", []))
    return True


@mutation("readers", in_source=True)
def title_in_source(notebook: NotebookNode) -> bool:
    cell = code(notebook)[-1]
    tags = cell.metadata.get("tags", [])
    _refold(cell, f"# @title Mine\n{without_title(cell.source)}", tags)
    return True


@mutation("readers", in_source=True)
def myst_directive(notebook: NotebookNode) -> bool:
    cell = next(c for c in notebook.cells if c.cell_type == "markdown")
    cell.source += "\n\n```{note}\nNot in Colab.\n```"
    return True


@mutation("readers", in_source=True)
def blank_line_in_fold(notebook: NotebookNode) -> bool:
    cell = next(c for c in notebook.cells if c.cell_type == "markdown")
    cell.source += "\n\n<details><summary>Solution</summary>\n<pre>a\n\nb</pre></details>"
    return True


@mutation("readers", in_source=True)
def myst_role(notebook: NotebookNode) -> bool:
    next(c for c in notebook.cells if c.cell_type == "markdown").source += "\n\nSee {ref}`here`."
    return True


@mutation("readers", in_source=True)
def link_to_markdown_source(notebook: NotebookNode) -> bool:
    cell = next(c for c in notebook.cells if c.cell_type == "markdown")
    cell.source += "\n\nSee [there](04-out-of-bounds.md#reads)."
    return True
