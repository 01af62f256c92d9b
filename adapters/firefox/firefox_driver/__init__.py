"""Drives headless Firefox as a session client; knows nothing of Longlook but adapters/CONTRACT.md."""
