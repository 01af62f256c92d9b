"""Longlook: a laboratory for transport protocols."""

__version__ = "0.1.0"
