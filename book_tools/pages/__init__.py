"""Generate the book's reference pages."""
