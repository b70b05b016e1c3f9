"""The feedback page shows the results, and nothing hostile gets through it."""

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
MARKS = (
    CellPoints("mean-values", 2, 2),
    CellPoints("mean-rows", 0, 3, "under vmap <each> row must give what it gives alone"),
    CellPoints("spread-jit", 3, 4),
)
RECORD = GradeRecord("Ada <b>Lovelace</b>", "graded", (), MARKS, 9)


def notebook(*cells: NotebookNode) -> NotebookNode:
    """Make a notebook of cells, which may be malformed, and a test cell."""
    own = [new_code_cell("assert mean", metadata={"nbgrader": {"grade_id": "mean-rows"}})]
    made = new_notebook()
    made.cells = [*cells, *own]
    return made


def output(kind: str = "display_data", **parts: Any) -> NotebookNode:
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


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


# The tags that may be on a page: its own, and those that Markdown may contain.
TAGS = """html head meta title style body main header section h1 h2 h3 h4 h5 h6 p ul ol li table
thead tbody tfoot tr td th caption pre code div span a b i u s em strong del ins sub sup hr br img
blockquote details summary dl dt dd kbd samp mark small q""".split()  # noqa: SIM905
ATTRIBUTES = {
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


class Checked(HTMLParser):
    """Parses a page, and fails if anything on it is not allowed."""

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
        assert tag in TAGS, tag
        for name, value in attrs:
            assert name in ATTRIBUTES.get(tag, set()) | {"class"}, (tag, name)
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
        raise AssertionError(f"a comment: {data}")

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(f"a declaration: {data}")

    def handle_pi(self, data: str) -> None:
        raise AssertionError(f"an instruction: {data}")


def checked(*cells: NotebookNode, record: GradeRecord = RECORD) -> Checked:
    return Checked(render_page(ASSIGNMENT, record, notebook(*cells)))


def said(*cells: NotebookNode, record: GradeRecord = RECORD) -> str:
    return "".join(checked(*cells, record=record).text)


# If one of these ran, it would change the title of the page.
RUN = "document.title='pwned'"
HOSTILE = [
    f"<script>{RUN}</script>",
    f"<ScRiPt\n>{RUN}</sCrIpT\n>",
    f"<scr<script>ipt>{RUN}</scr</script>ipt>",
    '<script src="https://example.org/x.js"></script>',
    f'<img src=x onerror="{RUN}">',
    f'<img src="x"onerror={RUN}//',
    f"<img alt='<img src=x onerror={RUN}>'>",
    f'<p title="<img src=x onerror={RUN}>">x</p>',
    f"<svg onload={RUN}></svg>",
    f"<svg><script>{RUN}</script></svg>",
    f"<svg><style><img src=x onerror={RUN}></style></svg>",
    f"<math><mtext><table><mglyph><style><!--</style><img src onerror={RUN}>",
    f'<noscript><p title="</noscript><img src=x onerror={RUN}>">',
    f"<template><script>{RUN}</script></template>",
    f'<iframe srcdoc="<script>parent.{RUN}</script>"></iframe>',
    '<iframe src="javascript:alert(1)"></iframe><object data="x"></object><embed src="x">',
    f"[click](javascript:{RUN})",
    f"[click](JaVa\tScript:{RUN})",
    f"[click](&#106;avascript:{RUN}) <a href='&#x6A;avascript:{RUN}'>x</a>",
    f"<a href=' javascript:{RUN}'>x</a> <a href='data:text/html,<script>{RUN}</script>'>x</a>",
    f"<javascript:{RUN}> [x]: javascript:{RUN}",
    f"![x](javascript:{RUN}) ![y](https://example.org/track.png) ![z](data:image/svg+xml,<svg/>)",
    f'<img src="data:image/png;base64,AAAA" onload={RUN}>',
    f'<img src="data:image/svg+xml;base64,{encoded(b"<svg/>")}">',
    f'<div style="background:url(javascript:{RUN}); width: expression({RUN})">x</div>',
    '<td style="position:fixed;text-align:left"><style>* { display: none }</style><link rel=x>',
    '<meta http-equiv="refresh" content="0;url=https://example.org"><base href="//example.org/">',
    f'<form action="javascript:{RUN}"><input autofocus onfocus={RUN}><button>x</button></form>',
    f"<details open ontoggle={RUN}><summary onclick={RUN}>x</summary></details>",
    f"<video><source onerror={RUN}></video><audio src=x onerror={RUN}></audio>",
    "</section></main></body></html><p>after",
    f"<!-- <!-- --><script>{RUN}</script> --!> <![CDATA[ <script>{RUN}</script> ]]> <?php x ?>",
    "<b><i><table><a><tr><div></b></i><p><h1><h6 id=x onclick=y>",
    f"```html\n<script>{RUN}</script>\n```\n\n`<script>{RUN}</script>`",
    f'```"><script>{RUN}</script>\nx\n```\n\n```mermaid\n<script>{RUN}</script>\n```',
    f"$<script>{RUN}</script>$ \\begin{{a}}<img src=x onerror={RUN}>\\end{{a}}",
    f"| a | b |\n|:-:|--:|\n| <script>{RUN}</script> | <img src=x onerror={RUN}> |",
    f"{{{{ cell }}}} {{% raw %}} {{body}} {{title}} </title><script>{RUN}</script>",
    f'<x onclick={RUN}>x</x><a class="marks full" name=title id=main href="#">9 of 9</a>',
    "\0<\0script>\u202etxt\u2028</style></pre></code>\ud800",
    f"<plaintext><xmp><listing><textarea><title><select><script>{RUN}</script>",
    "<b>" * 3000 + "</p>" * 50 + "> " * 500,
]
EVERYWHERE = {
    "text": lambda text: new_markdown_cell(text),
    "raw": lambda text: new_raw_cell(text),
    "code": lambda text: new_code_cell(f"x = '''{text}'''\n# {text}"),
    "stream": lambda text: output("stream", name="stdout", text=text),
    "stderr": lambda text: output("stream", name="stderr", text=f"\x1b[31m{text}\x1b[0m"),
    "error": lambda text: output("error", ename=text, evalue=text, traceback=[]),
    "traceback": lambda text: output("error", ename="E", evalue="e", traceback=[text, text]),
    "plain": lambda text: output(data={"text/plain": text}),
    "html": lambda text: output(data={"text/html": text, "text/plain": text}),
    "markdown": lambda text: output(data={"text/markdown": text, "text/latex": text}),
    "png": lambda text: output(data={"image/png": text, "text/plain": text}),
    "figure": lambda text: output(data={"image/png": encoded(png()), "text/plain": text}),
    "kinds": lambda text: output(data={text: text}),
    "attachment": lambda text: new_markdown_cell(
        "![x](attachment:x.png) ![y](attachment:y.svg)",
        attachments={"x.png": {text: text, "image/png": text}, "y.svg": {"image/svg+xml": text}},
    ),
}


@pytest.mark.parametrize("where", EVERYWHERE)
def test_hostile_content_is_removed(where: str) -> None:
    for text in HOSTILE:
        text_said = said(EVERYWHERE[where](text))
        assert "under vmap <each> row" in text_said


def test_hostile_records_are_escaped() -> None:
    for text in HOSTILE:
        mark = CellPoints(text, 0, 3, text)
        hostile = replace(RECORD, student=text, notes=(text,), cells=(*MARKS, mark))
        assert "5 of 9 points" in said(record=hostile)
        assert "There is no score." in said(record=replace(hostile, status="tampered"))


def everything() -> str:
    cells = [make(text) for make in EVERYWHERE.values() for text in HOSTILE[:-1]]
    return render_page(
        ASSIGNMENT, replace(RECORD, student="Ada", notes=tuple(HOSTILE)), notebook(*cells)
    )


def test_nothing_runs_or_loads_in_a_browser(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(everything(), encoding="utf-8")
    asked: list[str] = []
    opened = browser.new_page()
    opened.on("request", lambda request: asked.append(request.url[:60]))
    opened.goto((tmp_path / "page.html").as_uri())
    for summary in opened.locator("summary").all()[:20]:
        summary.click()
    opened.wait_for_timeout(300)
    assert opened.title() == "Means & more: feedback, Ada"
    assert [url for url in asked if not url.startswith("data:image/png")] == [opened.url[:60]]
    opened.close()


def test_the_policy_alone_blocks_scripts(browser: Browser, tmp_path: Path) -> None:
    bare = render_page(ASSIGNMENT, RECORD, notebook())
    inserted = f"<script>{RUN}</script><img src=x onerror={RUN}><svg onload={RUN}></svg>"
    broken = bare.replace("<main>", f"<main>{inserted}")
    (tmp_path / "page.html").write_text(broken, encoding="utf-8")
    opened = browser.new_page()
    opened.goto((tmp_path / "page.html").as_uri())
    opened.wait_for_timeout(200)
    assert opened.title().startswith("Means & more")
    opened.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_the_page_can_be_read(browser: Browser, tmp_path: Path, width: int, scheme: str) -> None:
    from axe_playwright_python.base import AXE_FILE_PATH

    wide = "| " + " | ".join(["a column"] * 20) + " |\n"
    cells = [
        new_markdown_cell(
            "# Mine\n\n" + wide + "|--" * 20 + "|\n" + wide + "\n`" + "x" * 300 + "`"
        ),
        new_code_cell("# " + "long " * 80 + "\nx = f'{1} one' + 2.5\ndef g(): return None"),
        output("stream", name="stdout", text="0123456789 " * 60 + "\n" + "x" * 500),
        output("stream", name="stderr", text="\x1b[33mmind\x1b[0m " + "x" * 500),
        output("error", ename="E", evalue="e", traceback=["\x1b[30;43mmarked\x1b[39;49m\x1b[32mE"]),
        output(data={"image/png": encoded(png()), "text/html": "<p>"}),
    ]
    record = replace(RECORD, status="flagged", notes=("One was mended: " + "x" * 200,))
    (tmp_path / "page.html").write_text(render_page(ASSIGNMENT, record, notebook(*cells)))
    context = browser.new_context(
        viewport={"width": width, "height": 800}, color_scheme=scheme, bypass_csp=True
    )
    opened = context.new_page()
    opened.goto((tmp_path / "page.html").as_uri())
    assert opened.evaluate("document.scrollingElement.scrollWidth") <= width
    opened.evaluate(AXE_FILE_PATH.read_text("utf8"))
    found = opened.evaluate("axe.run(document, {resultTypes: ['violations']})")
    problems = [(v["id"], v["nodes"][0]["html"][:200]) for v in found["violations"]]
    assert not problems
    context.close()


def test_the_policy_comes_before_student_content() -> None:
    html = render_page(ASSIGNMENT, RECORD, notebook())
    policy = next(m for m in Checked(html).metas if m.get("http-equiv"))["content"] or ""
    assert policy.startswith("default-src 'none'; ")
    assert "script-src" not in policy
    assert html.index("Content-Security-Policy") < html.index("Ada")


@pytest.mark.parametrize("status", STATUSES)
def test_only_scored_statuses_show_a_score(status: str) -> None:
    text = said(record=replace(RECORD, status=status, notes=("Why & what.",)))
    scored = status in ("graded", "flagged", "partial")
    assert ("5 of 9 points" in text) is scored
    assert ("There is no score." in text) is not scored
    assert ("2 of 5" in text) is scored
    assert ("0 of 3 points" in text) is scored
    assert "Why & what." in text
    assert "Ada <b>Lovelace</b>" in text


def test_each_test_cell_shows_points_and_message() -> None:
    own = new_code_cell("assert spread", metadata={"nbgrader": {"grade_id": "spread-jit"}})
    text = said(own)
    assert "✗ 0 of 3 points mean-rowsWhat" in text
    assert "What the hidden tests found: under vmap <each> row must give what it gives" in text
    assert "✗ 3 of 4 points spread-jitA test of this property failed." in text
    assert "✓ 2 of 2 points mean-values" in text
    assert "Right for <all> sizes." in text
    assert "These tests were not reached." in said(
        record=replace(RECORD, status="partial", cells=(CellPoints("mean-rows", None, 3),))
    )


def test_points_appear_once() -> None:
    again = new_code_cell("assert mean", metadata={"nbgrader": {"grade_id": "mean-rows"}})
    assert said(again).count("0 of 3 points") == 1


def test_solutions_and_hidden_tests_do_not_appear() -> None:
    cell = new_code_cell("### BEGIN HIDDEN TESTS\nSECRET_TEST = 1\n### END HIDDEN TESTS\nx = 1")
    assert "SECRET" not in said(cell)


@pytest.mark.parametrize(
    ("text", "shown"),
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
def test_paths_are_redacted(text: str, shown: str) -> None:
    assert shown in said(output("stream", name="stderr", text=text))
    assert shown in said(output("error", ename="E", evalue="e", traceback=[text]))
    plain = re.sub(r"\x1b\[\d+m", "", text)
    assert shown in said(record=replace(RECORD, notes=(plain,)))


def test_own_folders_are_redacted() -> None:
    import sys

    text = f"{sys.prefix}/lib/x.py {Path.home()}/x {Path.cwd()}/a b/y.py"
    found = said(output("stream", name="stdout", text=text))
    assert sys.prefix not in found
    assert str(Path.cwd()) not in found


def test_images_have_alternative_text() -> None:
    cells = [
        output(data={"image/png": encoded(png()), "text/plain": "<Figure size 1x1>"}),
        output(data={"image/jpeg": encoded(jpeg()) + "\n"}),
        new_markdown_cell(
            "![a plan](attachment:p.png)", attachments={"p.png": {"image/png": encoded(png())}}
        ),
    ]
    alts = [image["alt"] for image in checked(*cells).images]
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
def test_invalid_images_are_left_out(data: bytes) -> None:
    text = encoded(data)
    seen = checked(
        output(data={"image/png": text}), new_markdown_cell(f"![x](data:image/png;base64,{text})")
    )
    assert not seen.images
    assert "Left out here: image/png." in "".join(seen.text)


def test_a_broken_jpeg_is_left_out() -> None:
    for data in (jpeg()[:-1], jpeg()[:40], b"\xff\xd8\xff\xd9", b"\xff\xd8\xff\xc0\xff\xd9"):
        assert not checked(output(data={"image/jpeg": encoded(data)})).images


def test_other_outputs_are_named() -> None:
    kinds = ["text/html", "image/svg+xml", "application/javascript"]
    widget = "application/vnd.jupyter.widget-view+json"
    data = {"text/plain": "a table", **dict.fromkeys(kinds, "<x>"), widget: {"model_id": "1"}}
    text = said(output(data=data))
    assert "a table" in text
    assert f"Left out here: {', '.join([*kinds, widget])}." in text


def test_long_outputs_are_truncated(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = said(output("stream", name="stdout", text="\n".join(map(str, range(900)))))
    assert f"{900 - MAX_LINES} lines left out" in lines
    assert "899" in lines
    wide = render_page(
        ASSIGNMENT, RECORD, notebook(output("stream", name="stdout", text="x" * 10**6))
    )
    assert f"{10**6 - MAX_CHARACTERS} characters left out" in wide
    assert len(wide) < MAX_CHARACTERS + 12_000
    many = new_code_cell(
        "f()", outputs=[new_output("display_data", data={"text/plain": "y"})] * 900
    )
    assert said(many).count("y\n") <= MAX_OUTPUTS
    assert "More outputs of this cell are left out." in said(many)
    monkeypatch.setattr("jaxbits_grader.reporting.feedback.page.MAX_PAGE_CHARACTERS", 50_000)
    assert "too long" in said(*[new_code_cell("x = 1\n" * 199)] * 30)


def test_rendering_stops_at_the_limit() -> None:
    large = output("stream", name="stdout", text="x = 1\n" * 10_000)
    large.source = "x = 1\n" * 10_000
    html = render_page(ASSIGNMENT, RECORD, notebook(*[large] * 5000))
    assert "too long" in html
    assert "✗ 0 of 3 points" in html
    assert len(html) < 2_000_000


def test_streams_are_joined_and_progress_bars_collapse() -> None:
    parts = ["10%\r", "50%\r", "100%\n", "do", "ne"]
    cell = new_code_cell(outputs=[new_output("stream", name="stdout", text=p) for p in parts])
    assert "100%\ndone" in said(cell)
    assert "50%" not in said(cell)


def test_terminal_colors_become_classes() -> None:
    text = "\x1b[31mred\x1b[0m \x1b[38;5;28;01mbold\x1b[39;00m "
    text += "\x1b]8;;javascript:x\x07link\x1b[2J\x1b[H\x07"
    html = render_page(ASSIGNMENT, RECORD, notebook(output("stream", name="stdout", text=text)))
    assert '<span class="ansi-red-fg">red</span> <span class="ansi-bold">bold</span> link' in html
    assert "\x1b" not in html
    assert "rgb" not in html


def test_a_kernel_may_send_anything() -> None:
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
    assert "5 of 9 points" in said(cell, other)
