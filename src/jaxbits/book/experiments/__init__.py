"""Experiments whose results the chapters print and plot."""
