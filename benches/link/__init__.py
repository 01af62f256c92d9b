"""Accuracy and speed of the link emulator, seen from outside."""
