"""Code that only the book's chapters need. Nothing in this package is stable.

- ``exercises``: the stubs, hints, checks, and solutions of each topic
- ``experiments``: programs whose results the chapters print and plot
- ``figures``: functions that draw the figures, with one module per chapter
- ``measurements``: recorded timings that the figures show
- the other modules: helpers that run code in other processes, script a debugger, or load data
"""
