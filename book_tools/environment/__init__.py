"""Set up the Python environments in which the book is built, tested, and compared."""
