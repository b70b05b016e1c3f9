"""The figures of the book, with one module per chapter and one style."""
