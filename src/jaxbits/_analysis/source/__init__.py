"""Analysis of source code: syntax trees, name bindings, and updates with ``.at``."""
