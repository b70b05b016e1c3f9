"""The programs that build, check, and publish the book: ``python -m book_tools --help``."""
