"""Results on the terminal: each module prints what one command found, and computes nothing. Only `cli` uses them."""
