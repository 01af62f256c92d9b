"""The parts of the adapter."""
