"""The flags that a browser elsewhere has to be started with, and whether it was.

Only a flag at the start makes a browser resolve the laboratory's names, trust its certificate and speak QUIC at once.
Many names lead to the one server: each load takes a name that was never used before, for which the browser can have no
ticket, no connection, and nothing learnt. Browsers on phones have no contexts that could be thrown away instead.
"""

import re
import secrets
from dataclasses import dataclass

from chromium_driver.flags import Target
from chromium_driver.remote.errors import ElsewhereError

NAMES = 500
"""Names for QUIC that one start of the browser has: each is for one load. A flag has room for no more."""

_QUIC = "--origin-to-force-quic-on="
_NO_EARLY_DATA = "disable_tls_zero_rtt/true"
_FIELD_TRIAL = ("--force-fieldtrials=QUIC/Enabled/", f"--force-fieldtrial-params=QUIC.Enabled:{_NO_EARLY_DATA}")


def wanted(target: Target, *, early_data: bool = True) -> list[str]:
    """Return the flags, with names for QUIC that no earlier start had."""
    start = secrets.token_hex(4)
    names = ",".join(f"q{start}-{number}.{target.domain}:{target.port}" for number in range(NAMES))
    return [*_fixed(target), f"{_QUIC}{names}", *([] if early_data else _FIELD_TRIAL)]


@dataclass(frozen=True)
class Started:
    """What a browser was started with, from its own page about its version."""

    quic_hosts: tuple[str, ...]
    early_data: bool

    @classmethod
    def read(cls, command_line: str, target: Target) -> "Started":
        """Read a command line; ElsewhereError names the flags that are missing."""
        plain = _without_quotes(command_line)
        missing = [flag for flag in _fixed(target) if _without_quotes(flag) not in plain]
        found = re.search(rf"{re.escape(_QUIC)}(\S+)", plain)
        ending = f".{target.domain}:{target.port}"
        origins = [] if found is None else [name for name in found[1].split(",") if name.endswith(ending)]
        if missing or not origins:
            lacks = ", ".join([*missing, *([] if origins else [f"{_QUIC}…{ending}"])])
            raise ElsewhereError(f"the browser was started without {lacks}: start it with what `longlook phone` prints")
        return cls(tuple(name.rpartition(":")[0] for name in origins), _NO_EARLY_DATA not in plain)


def _fixed(target: Target) -> tuple[str, ...]:
    return (
        "--enable-quic",
        f"--host-resolver-rules=MAP *.{target.domain} {target.address},MAP * ^NOTFOUND",
        f"--ignore-certificate-errors-spki-list={target.spki_sha256}",
    )


def _without_quotes(text: str) -> str:
    return text.replace('"', "").replace("'", "").replace("\\", "")
