"""Measurements of Longlook itself; `python -m benches` writes benches/results.json."""
