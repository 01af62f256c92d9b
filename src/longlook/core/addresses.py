"""Addresses with ports, as programs write them: `198.18.0.1:443`, `[2001:2::1]:443`."""


def with_port(address: str, port: int) -> str:
    """Return an address and a port as one text; an address of IPv6 stands in brackets."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def address_in(text: str) -> str:
    """Return the address of a text that has an address and a port; "" if it has none."""
    return text.rpartition(":")[0].strip("[]")
