"""The section of a declared population: in which share of it a metric is below each value."""
