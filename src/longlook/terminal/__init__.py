"""Shared by commands: their options, the console, printers, and how a run, its verdicts and explanations are shown.

`cli` and the instruments, which bring commands of their own, import this package. It computes nothing.
"""
