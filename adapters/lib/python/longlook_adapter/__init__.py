"""What adapters in Python share: lines, jobs and options as adapters/CONTRACT.md has them. Standard library only."""
