"""Losses within a round trip: how many packets the loss epochs of each arm lost, cell by cell."""
