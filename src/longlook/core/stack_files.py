"""The files of a trial's sampled call stacks, and their names of functions, for the code that writes and reads them."""

FOLDER, FACTS = "cpu", "profile.json"
"""The folder within a trial's, and the file there that says how it was sampled."""

KERNEL = "_[k]"
"""The end of the name of a kernel function in a folded stack, as flame graph tools know it."""

UNNAMED = "[unknown]"
"""A function without a name, in perf's own words."""
