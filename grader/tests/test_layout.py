"""Test that modules import each other only in the order that README.md describes."""

from __future__ import annotations

import ast
from pathlib import Path

import jaxbits_grader

ROOT = Path(jaxbits_grader.__file__).parent
# From the lowest layer to the highest. Parts in the same layer do not import each other.
LAYERS = [
    {"cell_names", "files"},
    {"notebook", "grade_records"},
    {"authoring", "running"},
    {"judging", "intake"},
    {"checking"},
    {"gradebook"},
    {"reporting"},
    {"grade_submission"},
    {"worker_pool"},
    {"grade_command"},
    {"cli"},
    {"__main__"},
]
LAYER_OF = {name: layer for layer, names in enumerate(LAYERS) for name in names}
MODULES = [path for path in sorted(ROOT.rglob("*.py")) if path != ROOT / "__init__.py"]


def part_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported_parts(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("jaxbits_grader."):
            found.add(str(node.module).split(".")[1])
    return found


def test_modules_import_only_from_lower_layers() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {other}"
        for path in MODULES
        for other in imported_parts(path)
        if other != part_of(path) and LAYER_OF[other] >= LAYER_OF[part_of(path)]
    ]
    assert wrong == []


def test_readme_lists_every_part() -> None:
    readme = (ROOT.parents[1] / "README.md").read_text(encoding="utf-8")
    missing = [name for name in LAYER_OF if f"`{name}" not in readme and name != "__main__"]
    assert missing == []


def test_module_names_differ_from_public_functions() -> None:
    names = {path.stem for path in MODULES} | {path.parent.name for path in MODULES}
    functions = {
        node.name
        for path in MODULES
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    }
    assert names & functions == set()


def test_jaxbits_does_not_import_grader() -> None:
    import jaxbits

    library = Path(str(jaxbits.__file__)).parent
    assert [p for p in library.rglob("*.py") if "jaxbits_grader" in p.read_text("utf8")] == []
