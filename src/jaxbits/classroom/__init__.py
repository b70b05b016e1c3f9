"""Assignments: made from their sources, proven, handed out, and graded safely.

``python -m jaxbits.classroom --help`` lists the verbs. Needs the package's extra ``classroom``;
nothing else in the library imports it, and a student needs none of it.
"""
