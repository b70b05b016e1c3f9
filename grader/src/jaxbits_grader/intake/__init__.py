"""What students hand in: files found, read, matched to the assignment, and repaired."""
