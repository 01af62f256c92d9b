"""Kills, hostile programs, full disks, damaged files and fuzzers, for hours: `make torture`
(docs/reference/run-folders.md).

Each experiment draws its moments and its means from a seeded stream, runs the command as a user would, and asserts what
must hold afterwards. `records` keeps every outcome, so that a session goes on where the one before was ended.
"""
