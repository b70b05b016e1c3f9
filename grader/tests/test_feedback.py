"""Test that the feedback page shows the results and removes or escapes hostile content."""

from __future__ import annotations

import base64
import io
import re
import struct
import zlib
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from jaxbits_grader.authoring.assignment_source import parse_assignment
from jaxbits_grader.grade_records import STATUSES, CellPoints, GradeRecord
from jaxbits_grader.reporting.feedback.cell_outputs import MAX_OUTPUTS
from jaxbits_grader.reporting.feedback.page import render_page
from jaxbits_grader.reporting.feedback.text import MAX_CHARACTERS, MAX_LINES
from nbformat import NotebookNode, from_dict
from nbformat.v4 import (
    new_code_cell,
    new_markdown_cell,
    new_notebook,
    new_output,
    new_raw_cell,
)
from playwright.sync_api import Browser

ASSIGNMENT = parse_assignment(
    """---
jupytext: {text_representation: {extension: .md, format_name: myst}}
kernelspec: {display_name: Python 3, language: python, name: python3}
assignment:
  title: Means & more
  chapter: 02-pure-functions
  minutes: 10
  goals: [count]
  tasks: {mean: "Right for <all> sizes.", spread: Traced once.}
---

```{code-cell} ipython3
:nbgrader: {grade_id: mean, solution: true}
### BEGIN SOLUTION
SECRET_SOLUTION = 1
### END SOLUTION
```

```{code-cell} ipython3
:nbgrader: {grade_id: mean-values, points: 2}
assert mean
### BEGIN HIDDEN TESTS
SECRET_TEST = 1
### END HIDDEN TESTS
```

```{code-cell} ipython3
:nbgrader: {grade_id: mean-rows, points: 3}
assert mean
```

```{code-cell} ipython3
:nbgrader: {grade_id: spread, solution: true}
### BEGIN SOLUTION
### END SOLUTION
```

```{code-cell} ipython3
:nbgrader: {grade_id: spread-jit, points: 4}
assert spread
```
""",
    "means",
)
CELL_POINTS = (
    CellPoints("mean-values", 2, 2),
    CellPoints("mean-rows", 0, 3, "under vmap <each> row must give what it gives alone"),
    CellPoints("spread-jit", 3, 4),
)
RECORD = GradeRecord("Ada <b>Lovelace</b>", "graded", (), CELL_POINTS, 9)


def notebook(*cells: NotebookNode) -> NotebookNode:
    """Return a notebook with these cells, which may be malformed, and with one test cell."""
    test_cells = [new_code_cell("assert mean", metadata={"nbgrader": {"grade_id": "mean-rows"}})]
    built = new_notebook()
    built.cells = [*cells, *test_cells]
    return built


def output_cell(kind: str = "display_data", **parts: Any) -> NotebookNode:
    return new_code_cell("f()", execution_count=3, outputs=[new_output(kind, **parts)])


def png(width: int = 2, height: int = 2) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + check

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = zlib.compress(b"".join(b"\0" + b"\xff\0\0" * 2 for _ in range(2)))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def jpeg() -> bytes:
    image = pytest.importorskip("PIL.Image")
    out = io.BytesIO()
    image.new("RGB", (3, 2)).save(out, "JPEG")
    return out.getvalue()


def to_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


# A page may contain only these tags, which are its own and those that Markdown may contain.
ALLOWED_TAGS = """html head meta title style body main header section h1 h2 h3 h4 h5 h6 p ul ol li
table thead tbody tfoot tr td th caption pre code div span a b i u s em strong del ins sub sup hr br
img blockquote details summary dl dt dd kbd samp mark small q""".split()  # noqa: SIM905
ALLOWED_ATTRIBUTES = {
    "html": {"lang"},
    "meta": {"charset", "http-equiv", "content", "name"},
    "a": {"href", "rel"},
    "img": {"src", "alt"},
    "ol": {"start"},
    "details": {"open"},
    "td": {"style"},
    "th": {"style"},
    "pre": {"tabindex"},
    "table": {"tabindex"},
}


class PageChecker(HTMLParser):
    """Parses a page, and fails if the page contains a tag or attribute that is not allowed."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.text: list[str] = []
        self.images: list[dict[str, str | None]] = []
        self.metas: list[dict[str, str | None]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ALLOWED_TAGS, tag
        for name, value in attrs:
            assert name in ALLOWED_ATTRIBUTES.get(tag, set()) | {"class"}, (tag, name)
            if name == "href":
                assert re.match("(https?://|mailto:)", value or ""), value
            if name == "style":
                assert re.fullmatch("text-align: ?(left|right|center);", value or ""), value
        if tag == "img":
            self.images.append(dict(attrs))
            assert re.match("data:image/(png|jpeg);base64,", dict(attrs)["src"] or "")
            assert dict(attrs)["alt"]
        if tag == "meta":
            assert "main" not in self.open
            self.metas.append(dict(attrs))
        if tag == "style":
            assert self.open == ["html", "head"]
        if tag not in ("meta", "img", "br", "hr"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.text.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"unexpected comment: {data}")

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(f"unexpected declaration: {data}")

    def handle_pi(self, data: str) -> None:
        raise AssertionError(f"unexpected processing instruction: {data}")


def check_page(*cells: NotebookNode, record: GradeRecord = RECORD) -> PageChecker:
    return PageChecker(render_page(ASSIGNMENT, record, notebook(*cells)))


def page_text(*cells: NotebookNode, record: GradeRecord = RECORD) -> str:
    return "".join(check_page(*cells, record=record).text)


# If this script runs, it changes the title of the page, which the browser tests check.
JS = "document.title='pwned'"
HOSTILE = [
    f"<script>{JS}</script>",
    f"<ScRiPt\n>{JS}</sCrIpT\n>",
    f"<scr<script>ipt>{JS}</scr</script>ipt>",
    '<script src="https://example.org/x.js"></script>',
    f'<img src=x onerror="{JS}">',
    f'<img src="x"onerror={JS}//',
    f"<img alt='<img src=x onerror={JS}>'>",
    f'<p title="<img src=x onerror={JS}>">x</p>',
    f"<svg onload={JS}></svg>",
    f"<svg><script>{JS}</script></svg>",
    f"<svg><style><img src=x onerror={JS}></style></svg>",
    f"<math><mtext><table><mglyph><style><!--</style><img src onerror={JS}>",
    f'<noscript><p title="</noscript><img src=x onerror={JS}>">',
    f"<template><script>{JS}</script></template>",
    f'<iframe srcdoc="<script>parent.{JS}</script>"></iframe>',
    '<iframe src="javascript:alert(1)"></iframe><object data="x"></object><embed src="x">',
    f"[click](javascript:{JS})",
    f"[click](JaVa\tScript:{JS})",
    f"[click](&#106;avascript:{JS}) <a href='&#x6A;avascript:{JS}'>x</a>",
    f"<a href=' javascript:{JS}'>x</a> <a href='data:text/html,<script>{JS}</script>'>x</a>",
    f"<javascript:{JS}> [x]: javascript:{JS}",
    f"![x](javascript:{JS}) ![y](https://example.org/track.png) ![z](data:image/svg+xml,<svg/>)",
    f'<img src="data:image/png;base64,AAAA" onload={JS}>',
    f'<img src="data:image/svg+xml;base64,{to_base64(b"<svg/>")}">',
    f'<div style="background:url(javascript:{JS}); width: expression({JS})">x</div>',
    '<td style="position:fixed;text-align:left"><style>* { display: none }</style><link rel=x>',
    '<meta http-equiv="refresh" content="0;url=https://example.org"><base href="//example.org/">',
    f'<form action="javascript:{JS}"><input autofocus onfocus={JS}><button>x</button></form>',
    f"<details open ontoggle={JS}><summary onclick={JS}>x</summary></details>",
    f"<video><source onerror={JS}></video><audio src=x onerror={JS}></audio>",
    "</section></main></body></html><p>after",
    f"<!-- <!-- --><script>{JS}</script> --!> <![CDATA[ <script>{JS}</script> ]]> <?php x ?>",
    "<b><i><table><a><tr><div></b></i><p><h1><h6 id=x onclick=y>",
    f"```html\n<script>{JS}</script>\n```\n\n`<script>{JS}</script>`",
    f'```"><script>{JS}</script>\nx\n```\n\n```mermaid\n<script>{JS}</script>\n```',
    f"$<script>{JS}</script>$ \\begin{{a}}<img src=x onerror={JS}>\\end{{a}}",
    f"| a | b |\n|:-:|--:|\n| <script>{JS}</script> | <img src=x onerror={JS}> |",
    f"{{{{ cell }}}} {{% raw %}} {{body}} {{title}} </title><script>{JS}</script>",
    f'<x onclick={JS}>x</x><a class="marks full" name=title id=main href="#">9 of 9</a>',
    "\0<\0script>\u202etxt\u2028</style></pre></code>\ud800",
    f"<plaintext><xmp><listing><textarea><title><select><script>{JS}</script>",
    "<b>" * 3000 + "</p>" * 50 + "> " * 500,
]
PLACEMENTS = {
    "text": lambda text: new_markdown_cell(text),
    "raw": lambda text: new_raw_cell(text),
    "code": lambda text: new_code_cell(f"x = '''{text}'''\n# {text}"),
    "stream": lambda text: output_cell("stream", name="stdout", text=text),
    "stderr": lambda text: output_cell("stream", name="stderr", text=f"\x1b[31m{text}\x1b[0m"),
    "error": lambda text: output_cell("error", ename=text, evalue=text, traceback=[]),
    "traceback": lambda text: output_cell("error", ename="E", evalue="e", traceback=[text, text]),
    "plain": lambda text: output_cell(data={"text/plain": text}),
    "html": lambda text: output_cell(data={"text/html": text, "text/plain": text}),
    "markdown": lambda text: output_cell(data={"text/markdown": text, "text/latex": text}),
    "png": lambda text: output_cell(data={"image/png": text, "text/plain": text}),
    "figure": lambda text: output_cell(data={"image/png": to_base64(png()), "text/plain": text}),
    "kinds": lambda text: output_cell(data={text: text}),
    "attachment": lambda text: new_markdown_cell(
        "![x](attachment:x.png) ![y](attachment:y.svg)",
        attachments={"x.png": {text: text, "image/png": text}, "y.svg": {"image/svg+xml": text}},
    ),
}


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_render_page_removes_hostile_content(placement: str) -> None:
    for text in HOSTILE:
        shown = page_text(PLACEMENTS[placement](text))
        assert "under vmap <each> row" in shown


def test_render_page_escapes_hostile_records() -> None:
    for text in HOSTILE:
        cell_points = CellPoints(text, 0, 3, text)
        hostile = replace(RECORD, student=text, notes=(text,), cells=(*CELL_POINTS, cell_points))
        assert "5 of 9 points" in page_text(record=hostile)
        assert "There is no score." in page_text(record=replace(hostile, status="tampered"))


def hostile_page() -> str:
    cells = [make_cell(text) for make_cell in PLACEMENTS.values() for text in HOSTILE[:-1]]
    return render_page(
        ASSIGNMENT, replace(RECORD, student="Ada", notes=tuple(HOSTILE)), notebook(*cells)
    )


def test_render_page_runs_and_loads_nothing_in_browser(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(hostile_page(), encoding="utf-8")
    requested_urls: list[str] = []
    page = browser.new_page()
    page.on("request", lambda request: requested_urls.append(request.url[:60]))
    page.goto((tmp_path / "page.html").as_uri())
    for summary in page.locator("summary").all()[:20]:
        summary.click()
    page.wait_for_timeout(300)
    assert page.title() == "Means & more: feedback, Ada"
    assert [url for url in requested_urls if not url.startswith("data:image/png")] == [
        page.url[:60]
    ]
    page.close()


def test_content_security_policy_blocks_injected_scripts(browser: Browser, tmp_path: Path) -> None:
    html = render_page(ASSIGNMENT, RECORD, notebook())
    inserted = f"<script>{JS}</script><img src=x onerror={JS}><svg onload={JS}></svg>"
    attacked = html.replace("<main>", f"<main>{inserted}")
    (tmp_path / "page.html").write_text(attacked, encoding="utf-8")
    page = browser.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    page.wait_for_timeout(200)
    assert page.title().startswith("Means & more")
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_render_page_is_accessible_and_fits_screen(
    browser: Browser, tmp_path: Path, width: int, scheme: str
) -> None:
    from axe_playwright_python.base import AXE_FILE_PATH

    wide_row = "| " + " | ".join(["a column"] * 20) + " |\n"
    cells = [
        new_markdown_cell(
            "# Mine\n\n" + wide_row + "|--" * 20 + "|\n" + wide_row + "\n`" + "x" * 300 + "`"
        ),
        new_code_cell("# " + "long " * 80 + "\nx = f'{1} one' + 2.5\ndef g(): return None"),
        output_cell("stream", name="stdout", text="0123456789 " * 60 + "\n" + "x" * 500),
        output_cell("stream", name="stderr", text="\x1b[33mmind\x1b[0m " + "x" * 500),
        output_cell(
            "error", ename="E", evalue="e", traceback=["\x1b[30;43mmarked\x1b[39;49m\x1b[32mE"]
        ),
        output_cell(data={"image/png": to_base64(png()), "text/html": "<p>"}),
    ]
    record = replace(RECORD, status="flagged", notes=("One was mended: " + "x" * 200,))
    (tmp_path / "page.html").write_text(render_page(ASSIGNMENT, record, notebook(*cells)))
    context = browser.new_context(
        viewport={"width": width, "height": 800}, color_scheme=scheme, bypass_csp=True
    )
    page = context.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width
    page.evaluate(AXE_FILE_PATH.read_text("utf8"))
    report = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    problems = [
        (violation["id"], violation["nodes"][0]["html"][:200]) for violation in report["violations"]
    ]
    assert not problems
    context.close()


def test_content_security_policy_precedes_student_content() -> None:
    html = render_page(ASSIGNMENT, RECORD, notebook())
    policy = next(m for m in PageChecker(html).metas if m.get("http-equiv"))["content"] or ""
    assert policy.startswith("default-src 'none'; ")
    assert "script-src" not in policy
    assert html.index("Content-Security-Policy") < html.index("Ada")


@pytest.mark.parametrize("status", STATUSES)
def test_render_page_shows_score_only_for_scored_statuses(status: str) -> None:
    text = page_text(record=replace(RECORD, status=status, notes=("Why & what.",)))
    scored = status in ("graded", "flagged", "partial")
    assert ("5 of 9 points" in text) is scored
    assert ("There is no score." in text) is not scored
    assert ("2 of 5" in text) is scored
    assert ("0 of 3 points" in text) is scored
    assert "Why & what." in text
    assert "Ada <b>Lovelace</b>" in text


def test_render_page_says_what_to_hand_in_if_no_notebook_could_be_graded() -> None:
    advice = "Hand in the .ipynb file that contains your answers to this assignment."
    empty = replace(RECORD, status="unreadable", notes=("means.ipynb is empty",), cells=())
    assert advice in page_text(record=empty)
    assert advice not in page_text(record=replace(RECORD, status="failed"))


def test_render_page_shows_points_and_messages_for_test_cells() -> None:
    test_cell = new_code_cell("assert spread", metadata={"nbgrader": {"grade_id": "spread-jit"}})
    text = page_text(test_cell)
    assert "✗ 0 of 3 points mean-rowsMessage" in text
    assert "Message: under vmap <each> row must give what it gives" in text
    assert "✗ 3 of 4 points spread-jitThe test gave no message." in text
    assert "✓ 2 of 2 points mean-values" in text
    assert "Right for <all> sizes." in text
    assert "These tests were not reached." in page_text(
        record=replace(RECORD, status="partial", cells=(CellPoints("mean-rows", None, 3),))
    )


def test_render_page_explains_exceptions_if_a_test_found_one() -> None:
    explanation = "means that your answer raised this exception"
    assert explanation not in page_text()
    message = "TypeError before this check: the mean must be finite"
    record = replace(RECORD, cells=(CellPoints("mean-rows", 0, 3, message),))
    assert explanation in page_text(record=record)


def test_render_page_shows_points_for_copied_test_cell_once() -> None:
    copied_cell = new_code_cell("assert mean", metadata={"nbgrader": {"grade_id": "mean-rows"}})
    assert page_text(copied_cell).count("0 of 3 points") == 1


def test_render_page_omits_solutions_and_hidden_tests() -> None:
    cell = new_code_cell("### BEGIN HIDDEN TESTS\nSECRET_TEST = 1\n### END HIDDEN TESTS\nx = 1")
    assert "SECRET" not in page_text(cell)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("File /tmp/a/lib/python3.11/site-packages/numpy/x.py:3, in f", "File x.py:3, in f"),
        ("File ~/venv/jax/_src/api.py:12", "File api.py:12"),
        ("\x1b[36mFile \x1b[39m\x1b[32m/home/j/venv/x.py:6\x1b[39m, in", "File x.py:6, in"),
        ("/tmp/ipykernel_12/3456.py:2: UserWarning: x", "your notebook:2: UserWarning: x"),
        ("<ipython-input-7-0123abcd>:2", "your notebook, cell 7:2"),
        ("'/root/courses/gradebook.db'", "'gradebook.db'"),
        ("PATH=/usr/local/bin:/usr/bin", "PATH=bin:bin"),
        ("file:///srv/nbgrader/autograded", "autograded"),
        (r"C:\Users\teacher\course\x.py", "x.py"),
        ("see https://docs.jax.dev/en/latest/x.html", "see https://docs.jax.dev/en/latest/x.html"),
        ("jit(f)/jit(main)/mul and 3/4/5", "jit(f)/jit(main)/mul and 3/4/5"),
    ],
)
def test_render_page_redacts_paths(text: str, expected: str) -> None:
    assert expected in page_text(output_cell("stream", name="stderr", text=text))
    assert expected in page_text(output_cell("error", ename="E", evalue="e", traceback=[text]))
    plain = re.sub(r"\x1b\[\d+m", "", text)
    assert expected in page_text(record=replace(RECORD, notes=(plain,)))


def test_render_page_redacts_folders_on_this_machine() -> None:
    import sys

    text = f"{sys.prefix}/lib/x.py {Path.home()}/x {Path.cwd()}/a b/y.py"
    shown = page_text(output_cell("stream", name="stdout", text=text))
    assert sys.prefix not in shown
    assert str(Path.cwd()) not in shown


def test_render_page_gives_images_alternative_text() -> None:
    cells = [
        output_cell(data={"image/png": to_base64(png()), "text/plain": "<Figure size 1x1>"}),
        output_cell(data={"image/jpeg": to_base64(jpeg()) + "\n"}),
        new_markdown_cell(
            "![a plan](attachment:p.png)", attachments={"p.png": {"image/png": to_base64(png())}}
        ),
    ]
    alts = [image["alt"] for image in check_page(*cells).images]
    assert alts == [
        "Figure, output of In [3]: <Figure size 1x1>",
        "Figure, output of In [3]",
        "a plan",
    ]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<svg/>",
        b"\x89PNG\r\n\x1a\n",
        png()[:-4],
        png() + b"<script>",
        png().replace(b"IDAT", b"IDAX"),
        png(30_000, 30_000),
        png(0, 1),
        png() + b"\0" * 2_000_000,
    ],
)
def test_render_page_omits_invalid_images(data: bytes) -> None:
    text = to_base64(data)
    page = check_page(
        output_cell(data={"image/png": text}),
        new_markdown_cell(f"![x](data:image/png;base64,{text})"),
    )
    assert not page.images
    assert "Left out here: image/png." in "".join(page.text)


def test_render_page_omits_broken_jpeg() -> None:
    for data in (jpeg()[:-1], jpeg()[:40], b"\xff\xd8\xff\xd9", b"\xff\xd8\xff\xc0\xff\xd9"):
        assert not check_page(output_cell(data={"image/jpeg": to_base64(data)})).images


def test_render_page_names_omitted_output_types() -> None:
    kinds = ["text/html", "image/svg+xml", "application/javascript"]
    widget = "application/vnd.jupyter.widget-view+json"
    data = {"text/plain": "a table", **dict.fromkeys(kinds, "<x>"), widget: {"model_id": "1"}}
    text = page_text(output_cell(data=data))
    assert "a table" in text
    assert f"Left out here: {', '.join([*kinds, widget])}." in text


def test_render_page_truncates_long_outputs(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = page_text(output_cell("stream", name="stdout", text="\n".join(map(str, range(900)))))
    assert f"{900 - MAX_LINES} lines left out" in lines
    assert "899" in lines
    wide = render_page(
        ASSIGNMENT, RECORD, notebook(output_cell("stream", name="stdout", text="x" * 10**6))
    )
    assert f"{10**6 - MAX_CHARACTERS} characters left out" in wide
    assert len(wide) < MAX_CHARACTERS + 12_000
    many = new_code_cell(
        "f()", outputs=[new_output("display_data", data={"text/plain": "y"})] * 900
    )
    assert page_text(many).count("y\n") <= MAX_OUTPUTS
    assert "More outputs of this cell are left out." in page_text(many)
    monkeypatch.setattr("jaxbits_grader.reporting.feedback.page.MAX_PAGE_CHARACTERS", 50_000)
    assert "too long" in page_text(*[new_code_cell("x = 1\n" * 199)] * 30)


def test_render_page_stops_at_size_limit() -> None:
    large = output_cell("stream", name="stdout", text="x = 1\n" * 10_000)
    large.source = "x = 1\n" * 10_000
    html = render_page(ASSIGNMENT, RECORD, notebook(*[large] * 5000))
    assert "too long" in html
    assert "✗ 0 of 3 points" in html
    assert len(html) < 2_000_000


def test_render_page_joins_streams_and_progress_bars() -> None:
    parts = ["10%\r", "50%\r", "100%\n", "do", "ne"]
    cell = new_code_cell(outputs=[new_output("stream", name="stdout", text=p) for p in parts])
    assert "100%\ndone" in page_text(cell)
    assert "50%" not in page_text(cell)


def test_render_page_turns_terminal_colors_into_css_classes() -> None:
    text = "\x1b[31mred\x1b[0m \x1b[38;5;28;01mbold\x1b[39;00m "
    text += "\x1b]8;;javascript:x\x07link\x1b[2J\x1b[H\x07"
    html = render_page(
        ASSIGNMENT, RECORD, notebook(output_cell("stream", name="stdout", text=text))
    )
    assert '<span class="ansi-red-fg">red</span> <span class="ansi-bold">bold</span> link' in html
    assert "\x1b" not in html
    assert "rgb" not in html


def test_render_page_accepts_malformed_outputs() -> None:
    outputs: list[Any] = [
        {"output_type": "stream", "name": ["x"], "text": {"a": 1}},
        {"output_type": "stream"},
        {"output_type": "error", "traceback": {"x": "<y>"}, "ename": 3, "evalue": None},
        {"output_type": "error", "traceback": [1, None, ["<z>"]]},
        {"output_type": "execute_result", "data": "text"},
        {"output_type": "display_data", "data": {"image/png": 3, "text/plain": [1, "<b>"]}},
        {"output_type": "<unknown>", "data": {"text/plain": None}},
        {},
        None,
        "text",
    ]
    cell = new_code_cell("x")
    cell.outputs = from_dict(outputs)
    other = new_markdown_cell("![x](attachment:y)")
    other.attachments = ["no", "dictionary"]
    assert "5 of 9 points" in page_text(cell, other)
