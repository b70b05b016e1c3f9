"""Read, execute, check, and format the chapters."""
