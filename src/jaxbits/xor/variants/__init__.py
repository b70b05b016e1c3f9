"""Variants of the XOR classifier that chapter 15 compares with its own program."""
