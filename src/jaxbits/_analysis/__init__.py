"""Shared analysis: the function under test, its trace, and its eager and instrumented runs.

Nothing here is public, and nothing here imports a detector.
"""
