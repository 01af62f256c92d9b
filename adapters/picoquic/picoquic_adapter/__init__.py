"""picoquic behind the contract of adapters/CONTRACT.md."""
