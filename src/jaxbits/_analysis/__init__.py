"""The analysis that detectors share, such as the trace of a function and its instrumented run.

This package is private, and none of its modules imports a detector.
"""
