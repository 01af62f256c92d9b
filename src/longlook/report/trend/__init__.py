"""The section of a trend: a metric over the releases of a stack."""
