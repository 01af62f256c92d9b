"""Speed of the inference of state machines, beside a peer."""
