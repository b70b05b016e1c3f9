"""Manage nbgrader's course folder and gradebook, including points entered by hand."""
