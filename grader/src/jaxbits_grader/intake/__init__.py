"""Find and read submitted files, match their cells to the assignment, and repair them."""
