"""What only the chapters of the book need: exercises, figures, and measurements.

Nothing here is stable. Import from `jaxbits` itself, or from one of its public modules, in code
of your own.
"""
