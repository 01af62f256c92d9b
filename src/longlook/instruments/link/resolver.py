"""Name resolution behind a link: a resolver on the loopback device outside cannot be reached from inside."""

from pathlib import Path

_CONFIGURATION = Path("/etc/resolv.conf")
_UPSTREAM = Path("/run/systemd/resolve/resolv.conf")
"""The file in which systemd-resolved lists its own servers."""


def working_configuration(configuration: Path = _CONFIGURATION, upstream: Path = _UPSTREAM) -> tuple[Path | None, str]:
    """Return the file to use as resolv.conf (None: no other), and a remark if names will not be found (else "")."""
    if not _only_loopback(configuration):
        return None, ""
    if upstream.exists() and not _only_loopback(upstream):
        return upstream, ""
    return None, f"names are not resolved behind the link: {configuration} names only loopback servers"


def _only_loopback(configuration: Path) -> bool:
    try:
        lines = [line.split() for line in configuration.read_text(errors="replace").splitlines()]
    except OSError:
        return False
    servers = [words[1] for words in lines if len(words) > 1 and words[0] == "nameserver"]
    return not servers or all(server.startswith("127.") or server == "::1" for server in servers)
