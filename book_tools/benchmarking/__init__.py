"""Measure and record the timings that the book shows."""
