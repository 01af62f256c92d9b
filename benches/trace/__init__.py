"""Speed and memory of decoding traces."""
