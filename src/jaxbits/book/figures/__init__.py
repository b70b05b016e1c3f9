"""The book's figures, with one module per chapter and a shared style."""
