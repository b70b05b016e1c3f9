"""Assignments: made from their sources, proven, handed out, and graded safely.

``python -m jaxbits_grader --help`` lists the verbs. It imports jaxbits, nothing
in jaxbits imports it, and a student needs none of it.
"""
