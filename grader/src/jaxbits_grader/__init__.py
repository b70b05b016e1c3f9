"""Make, hand out, collect, and grade the assignments of the book.

``jaxbits-grader --help`` lists the commands. This package imports jaxbits, and nothing in jaxbits
imports this package. Students do not need it.
"""
