"""Drives headless Chromium as a session client; knows nothing of Longlook but adapters/CONTRACT.md."""
