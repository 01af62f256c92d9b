"""`python -m longlook`."""

from longlook.cli import main

main()
