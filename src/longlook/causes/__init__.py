"""Causes of a slower load, one file each: `CAUSE` (CONTRIBUTING.md, "Add a cause"); nothing lists them."""
