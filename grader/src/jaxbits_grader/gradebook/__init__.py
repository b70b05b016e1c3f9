"""The course folder and gradebook of nbgrader, and points that a person entered by hand."""
