"""One look at a site without emulation: handshakes, and one request over each of HTTP/2 and HTTP/3.

It comes before a run, so that what would make every round fail is said at once, and in words.
"""

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from longlook.core import QUIC_BASE, TCP_BASE, InputError, MachineError, Program, SiteUrl
from longlook.outside.access import SiteAccess


class LeadsElsewhereError(InputError):
    """A site answers with another place, `place`; empty if it does not say where."""

    def __init__(self, message: str, hint: str, place: str) -> None:
        super().__init__(message, hint)
        self.place = place


_LONGEST_S = 120.0
LOOK_REQUESTS = 2
"""How many requests a look makes."""
H2, H3 = "h2", "h3"
_BUSY = (429, 503)


@dataclass(frozen=True)
class Answer:
    """The answer to a request without emulation; `error` says why there is none."""

    status: int
    bytes: int
    digest: str
    headers: Mapping[str, str] = field(default_factory=dict)
    error: str | None = None


@dataclass(frozen=True)
class Look:
    """Handshakes with one address of a site by transport, and its answers by protocol, as lines have them."""

    address: str
    bases: Mapping[str, Mapping[str, Any]]
    answers: Mapping[str, Answer]

    @property
    def is_dead(self) -> bool:
        """Return whether nothing at all answers at the address over TCP."""
        base = self.bases.get(TCP_BASE, {})
        return base.get("error") is not None and not base.get("connect_ns")


def look_at(program: Program, url: SiteUrl, address: str, access: SiteAccess) -> Look:
    """Look at a site at one of its addresses, from the namespace of this thread."""
    argv = [
        program.path, "look", "--host", url.host, "--address", address, "--path", url.path, "--ca", access.authorities,
        "--user-agent", access.user_agent, "--most-bytes", str(access.most_bytes),
    ]  # fmt: skip
    try:
        done = subprocess.run(argv, env={}, capture_output=True, text=True, check=False, timeout=_LONGEST_S)
    except subprocess.TimeoutExpired as error:
        raise MachineError(f"{url.host} at {address} did not answer within {_LONGEST_S:.0f} s") from error
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    if done.returncode != 0:
        reasons = [str(line.get("reason")) for line in lines if line.get("event") == "error"]
        raise MachineError(f"no look at {url.host} is possible: {'; '.join(reasons) or done.stderr.strip()[-300:]}")
    return Look(
        address,
        {line["transport"]: line for line in lines if line["event"] == "base"},
        {
            line["protocol"]: Answer(line["status"], line["bytes"], line["digest"], line["headers"], line["error"])
            for line in lines
            if line["event"] == "answer"
        },
    )


def check(url: SiteUrl, look: Look, protocols: Sequence[str], compare: str) -> None:
    """Raise InputError with the reason if a site cannot be measured.

    `compare` is how bodies are compared: by `digest` or by `size`.
    """
    for transport, protocol in ((TCP_BASE, H2), (QUIC_BASE, H3)):
        error = look.bases[transport]["error"]
        if error is not None and protocol in protocols:
            raise _no_handshake(url, look, transport, str(error))
    if H2 in protocols and (alpn := look.bases[TCP_BASE]["alpn"]) != H2:
        raise InputError(f"{url.host} does not speak HTTP/2: its TLS agreed upon {alpn or 'no protocol'}", _OTHER)
    for protocol in protocols:
        _check_answer(url, protocol, look.answers[protocol])
    found = [look.answers[protocol] for protocol in protocols]
    if len({(each.bytes, each.digest if compare == "digest" else "") for each in found}) > 1:
        sizes = " and ".join(f"{each.bytes} bytes" for each in found)
        raise InputError(
            f"{url} has another body at each request ({sizes}): which protocol is faster would not be seen",
            "name a file that stays as it is; or --compare size, if only the size has to be the same",
        )


_OTHER = "name a host that speaks HTTP/2 and HTTP/3 at port 443"


def _no_handshake(url: SiteUrl, look: Look, transport: str, error: str) -> InputError:
    if "certificate" in error or "x509" in error:
        return InputError(
            f"the certificate of {url.host} is not trusted: {error}",
            "if the authority is your own: --ca FILE; if a portal of this network stands between, log in there first",
        )
    if transport == TCP_BASE:
        return InputError(f"{url.host} at {look.address} does not answer over TCP and TLS: {error}", _OTHER)
    offered = look.answers[H2].headers.get("alt-svc", "") if H2 in look.answers else ""
    said = f"though its Alt-Svc says {offered}" if "h3" in offered else "and no Alt-Svc of it names h3"
    return InputError(
        f"{url.host} at {look.address} does not speak HTTP/3: no handshake by QUIC ({error}), {said}",
        "name a host that does; if all hosts fail, this network drops UDP to port 443",
    )


def _check_answer(url: SiteUrl, protocol: str, answer: Answer) -> None:
    status, place = answer.status, answer.headers.get("location", "")
    if answer.error is not None:
        raise InputError(f"{url} over {protocol}: {answer.error}", _OTHER)
    if 300 <= status < 400:
        raise LeadsElsewhereError(
            f"{url} over {protocol} leads elsewhere (HTTP status {status}): {place or 'it does not say where'}",
            "name that URL, if you mean it; --follow goes there if it is on the same host. "
            "If it is a page to log in, this network is a captive portal's",
            place,
        )
    if status in _BUSY:
        after = answer.headers.get("retry-after")
        raise InputError(
            f"{url} over {protocol}: HTTP status {status}, it asks for fewer requests",
            f"wait{f' {after} s' if after else ''}",
        )
    if status != 200:
        raise InputError(f"{url} over {protocol}: HTTP status {status}", "name a file that is there for everyone")
    if answer.bytes == 0:
        raise InputError(f"{url} over {protocol}: an empty body", "name a file that has something in it")
