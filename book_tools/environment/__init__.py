"""Set up the Python environments that the book is built, tested, and compared in."""
