"""Render feedback pages that run no scripts, load nothing, and reveal no hidden tests.

This package treats all text, code, and outputs in a notebook as hostile. It escapes them or filters
them through an allow-list with bleach. The page's content security policy also forbids scripts and
requests.

The package uses nbconvert's filters to render Markdown, code, and terminal colors, but nbconvert's
`HTMLExporter` cannot replace it. With `sanitize_html=True`, nbconvert 7 shows the tags of
paragraphs, headings, tables, and images as text. Moreover, it does not limit the length of outputs,
check images, or hide the paths on the grading machine.
"""
