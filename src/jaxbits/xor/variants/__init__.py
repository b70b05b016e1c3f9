"""The variants of the classifier that chapter 15 compares with its program."""
