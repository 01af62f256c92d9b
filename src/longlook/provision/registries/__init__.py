"""Asks registries of packages which releases they have, and fetches the sources of one, by their ordinary clients.

`declared.registry_of` returns the registry of a stack, which `adapters/registries.toml` names.
"""
