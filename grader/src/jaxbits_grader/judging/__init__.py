"""Decide outside a student's process whether the student's answers are right."""
