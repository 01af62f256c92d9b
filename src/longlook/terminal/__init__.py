"""What commands share: their options, the console, and how a run, its verdicts and its explanations are shown.

`cli` and the instruments, which bring commands of their own, import this package. It computes nothing.
"""
