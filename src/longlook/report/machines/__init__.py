"""TODO: one sentence, then the entry points."""
