"""Analysis of the Python state that a function can reach and of its impure calls."""
