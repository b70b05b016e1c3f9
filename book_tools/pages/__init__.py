"""Generate the reference pages of the book."""
