"""Causes: each sees itself where it was planted, and nothing where it was not."""
