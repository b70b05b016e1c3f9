"""Render feedback pages that run no scripts, load nothing, and do not reveal hidden tests.

This package treats all text, code, and outputs of a notebook as hostile. It escapes them or filters
them through bleach's allow-list, and the page's content security policy also forbids scripts and
requests.

The package uses nbconvert's filters to render Markdown, code, and terminal colors, but nbconvert's
`HTMLExporter` cannot replace it. With `sanitize_html=True`, nbconvert 7 shows the tags of
paragraphs, headings, tables, and images as text. It does not limit the length of an output, check
images, or hide the paths of the grading machine.
"""
