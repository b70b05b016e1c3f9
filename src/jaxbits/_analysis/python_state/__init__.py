"""Python state that a function can reach: references to it, snapshots, and impure calls."""
