"""The figures of the book, a module a chapter, in one style."""
