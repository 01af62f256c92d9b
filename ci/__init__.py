"""What a pipeline runs: the script of a gate, and the comment of a request."""
