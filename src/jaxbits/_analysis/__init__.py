"""The analysis that detectors share, such as a function's trace and its instrumented run.

This package is private, and none of its modules imports a detector.
"""
