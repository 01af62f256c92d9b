"""Two links beside each other: what came over which of them in the course of a load, arm by arm."""
