"""Code that only the chapters of the book need. Nothing in this package is stable.

- ``exercises``: stubs, hints, checks, and solutions, by topic
- ``experiments``: programs whose results the chapters print and plot
- ``figures``: the drawings, with one module per chapter
- ``measurements``: recorded timings, from which figures are drawn
- the modules: helpers that run code in other processes, script a debugger, or load data
"""
