"""Where CPU time goes: the work of both ends of each arm, cell by cell, and flame graphs of it."""
