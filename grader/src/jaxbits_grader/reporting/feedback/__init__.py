"""The feedback page of a student: nothing on it runs, loads anything, or reveals a test.

All text, code, and outputs of the notebook are treated as hostile. They are escaped or pass
bleach's allow-list, and the page's own policy forbids scripts and requests as well.

nbconvert's filters render Markdown, code, and terminal colors, but its `HTMLExporter` cannot
replace this package. With `sanitize_html=True`, nbconvert 7 shows the tags of paragraphs, headings,
tables, and images as text. It does not limit the length of an output, check images, or hide the
paths of the grading machine.
"""
