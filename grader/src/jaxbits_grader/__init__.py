"""Make, hand out, collect, and grade the book's assignments.

``jaxbits-grader --help`` lists the commands. This package imports jaxbits, but jaxbits does not
import this package, so students do not need to install it.
"""
