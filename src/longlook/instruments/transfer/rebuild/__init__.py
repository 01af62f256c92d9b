"""`longlook reproduce TRACE`: a foreign transfer → a study that repeats it, and trials of each suspected cause.

`fit.fit_transfer` reads path, program and load from the answer about a trace, and `fit.refit` corrects them by a first
trial, which the same instrument has read. `document` makes a study file of them, `likeness` compares the transfer with
its trial, and `run` changes one suspected cause after the other.
"""
