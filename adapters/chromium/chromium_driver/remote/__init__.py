"""Drives a Chromium that runs on another machine, a phone above all, over its DevTools port."""
