"""Make lecture slides of the chapters from their executed notebooks."""
