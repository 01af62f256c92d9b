"""CPU time of both ends of each arm by kind of work, cell by cell, and as flame graphs."""
