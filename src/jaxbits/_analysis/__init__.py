"""What the detectors share: the function under test, its jaxpr, and its instrumented runs.

Nothing here is public, and nothing here imports a detector.
"""
