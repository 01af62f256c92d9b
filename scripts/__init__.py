"""Tools for people who work on Longlook: `python -m scripts.NAME`, as the Makefile calls them."""
