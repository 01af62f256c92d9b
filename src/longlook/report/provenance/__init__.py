"""The sections on how results came about: method, validity, traces, repeats, manifest and downloads."""
