"""Names of sites: their addresses and HTTPS records (RFC 9460), by DNS."""

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

from longlook.core import InputError, MachineError

_WITHIN_S = 5.0


@dataclass(frozen=True)
class Names:
    """The answer of DNS about a host: its addresses of one version of IP in their order, and its HTTPS records."""

    addresses: tuple[str, ...]
    https: tuple[str, ...]  # as text, e.g. `1 . alpn="h3,h2"`
    resolver: tuple[str, ...]
    ttl_s: int = 0


def resolve(host: str, version: int, resolver: str = "") -> Names:
    """Ask DNS for a host over the given resolver, an address with an optional `:port`; empty: the machine's own.

    Names of /etc/hosts do not count. Raise InputError if the host has no address of this version of IP, MachineError if
    no resolver answers.
    """
    import dns.exception
    import dns.rdatatype
    import dns.resolver

    asked = _resolver(resolver)
    kind = dns.rdatatype.A if version == 4 else dns.rdatatype.AAAA
    where = ", ".join(map(str, asked.nameservers))
    try:
        answer: Any = asked.resolve(host, kind, search=False)
    except dns.resolver.NXDOMAIN as error:
        raise InputError(
            f"{host} does not exist, says {where}", "is it spelt right? --resolver ADDRESS asks another"
        ) from error
    except dns.resolver.NoAnswer as error:
        raise InputError(
            f"{host} has no address of IPv{version}, says {where}", f'network.ip = "{10 - version}", or another host'
        ) from error
    except dns.exception.DNSException as error:
        raise MachineError(f"no resolver answers for {host}: {error}", "--resolver ADDRESS asks another") from error
    addresses = tuple(dict.fromkeys(str(record.address) for record in answer))
    return Names(addresses, _https(asked, host), tuple(map(str, asked.nameservers)), int(answer.rrset.ttl))


def _https(asked: Any, host: str) -> tuple[str, ...]:
    import dns.exception
    import dns.rdatatype

    try:
        return tuple(sorted(str(record) for record in asked.resolve(host, dns.rdatatype.HTTPS, search=False)))
    except dns.exception.DNSException:  # most hosts have none, and some resolvers refuse to ask
        return ()


def _resolver(text: str) -> Any:
    import dns.resolver

    if not text:
        try:
            asked = dns.resolver.Resolver()
        except dns.resolver.NoResolverConfiguration as error:
            raise MachineError(f"this machine has no resolver: {error}", "--resolver ADDRESS") from error
    else:
        asked = dns.resolver.Resolver(configure=False)
        address, port = _server(text)
        asked.nameservers, asked.port = [address], port
    asked.lifetime = _WITHIN_S
    asked.cache = None
    return asked


def _server(text: str) -> tuple[str, int]:
    """Return the address and the port of a resolver such as `192.0.2.53`, `192.0.2.53:5353` or `[2001:db8::53]:53`."""
    address, port = text, "53"
    if text.startswith("["):
        address, _, port = text[1:].partition("]")
        port = port.removeprefix(":") or "53"
    elif text.count(":") == 1:
        address, _, port = text.partition(":")
    try:
        return str(ip_address(address)), int(port)
    except ValueError as error:
        raise InputError(f"--resolver {text}: {error}", "write an address, such as 192.0.2.53") from error


def kept_first(addresses: Sequence[str], before: str) -> tuple[str, ...]:
    """Return addresses with `before`, which was used last, in front, if it is still among them."""
    return tuple(sorted(addresses, key=lambda each: each != before))
