"""The Python state that a function can reach: references, snapshots, and impure calls."""
