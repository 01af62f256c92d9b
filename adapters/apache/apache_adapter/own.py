"""The configuration that a user brings: refused by the line, or read behind the laboratory's.

The user's file is included as a copy in which the tags of its virtual host are blank, so Apache itself names the lines
that the user knows. Of most directives the last one counts, which is the user's.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longlook_adapter.debian import Packaged
from longlook_adapter.errors import BadUsageError
from longlook_adapter.own_config import ONE_FILE, UNQUOTED, Wrong, ask_server, by_name, read_own, set_by_knobs

_HOST = "virtualhost"
_OWN_HOST = re.compile(r"<virtualhost\s+(?:\*|_default_):443\s*>", re.IGNORECASE)
_REASONS = {
    "the laboratory sets address and port of its one server": ("listen", "listenbacklog", "servername", "serveralias"),
    "the study's key protocol decides it": ("protocols",),
    "the laboratory sets certificate and key": (
        *("sslengine", "sslcertificatefile", "sslcertificatekeyfile", "sslcertificatechainfile"),
        *("sslpassphrasedialog", "sslcryptodevice"),
    ),
    "TLS 1.3 is the same for all arms": ("sslprotocol",),
    "the study's key connection decides it": ("sslsessioncache", "sslsessiontickets", "sslsessionticketkeyfile"),
    "the laboratory sets the files that are served": ("documentroot",),
    "the laboratory reads its own logs": (
        *("errorlog", "errorlogformat", "loglevel", "customlog", "transferlog", "globallog", "logformat"),
    ),
    "the laboratory starts and ends the program": (
        *("user", "group", "pidfile", "serverroot", "defaultruntimedir", "coredumpdirectory", "chrootdir"),
    ),
    "a trial has one process with its threads": ("startservers", "serverlimit", "threadlimit", "mutex"),
    "a trial has this one file: write the lines here": ("include", "includeoptional", "accessfilename", "<iffile"),
    "no code is loaded into the program": ("loadmodule", "loadfile"),
    "the text depends on nothing but the file": ("define", "undefine", "passenv"),
    "the laboratory sets the rules of its folder of files": (
        *("<directory", "<directorymatch", "allowoverride", "allowoverridelist"),
    ),
}
_REFUSED = by_name(_REASONS)
_FILES = re.compile(
    r"auth(?:user|group)file|authdb[dm]\w*|rewritemap|extfilterdefine|script\w*|action|alias\w*|mimemagicfile|typesconfig"
    r"|ssl\w*(?:file|path)|sslopensslconfcmd|sslrandomseed|cacheroot|scoreboardfile"
)
_OF_EXPRESSIONS = re.compile(
    r"\b(?:file|filesize|filemod|osenv)\s*\(|%\{(?:file|filesize|filemod|osenv):", re.IGNORECASE
)
_PLAIN = re.compile(r"<?/?[A-Za-z0-9_.-]+")
_SPACE = " \t\v\f\r"
_OF_KNOBS = {"max_incoming_streams": ("h2maxsessionstreams",)}


@dataclass(frozen=True)
class OwnConfig:
    """A user's file: its name, and its text with the tags of its virtual host blank."""

    name: str
    text: str

    @classmethod
    def of_trial(cls, knobs: Mapping[str, Any]) -> "OwnConfig | None":
        """Return the file that the laboratory names, None if there is none; BadUsageError with the lines refused."""
        found = read_own(_directives, lambda _text, directives: _refusals(directives, knobs))
        if found is None:
            return None
        file, text, _ = found
        return cls(file.name, "\n".join("" if _is_host(line) else line for line in text.split("\n")))

    def merged(self, ours: str, folder: Path) -> str:
        """Return the laboratory's configuration with this one behind it, which is written to a folder."""
        file = folder / "own.conf"
        file.write_bytes(self.text.encode())
        return f'{ours}Include "{file}"\n'

    def check(self, program: Packaged, file: Path) -> None:
        """Let Apache check the merged configuration; BadUsageError, with the line if it is the user's."""
        done = ask_server((*program.argv, "-t", "-f", str(file)), program.env)
        if done.returncode == 0:
            return
        found = re.search(r"on line (\d+) of \S*/own\.conf:\n(.*)", done.stderr)
        if found is not None:
            raise BadUsageError(f"{self.name}:{found[1]}: Apache: {found[2]}")
        raise BadUsageError(f"{self.name}: Apache: {' '.join(done.stderr.split())}")


def _directives(text: str) -> Iterator[tuple[int, str]]:
    """Yield each directive with the number of its first line, lines that end in a backslash joined with the next."""
    whole, first = "", 0
    for number, line in enumerate([*text.split("\n"), ""], 1):
        first = first or number
        unbroken = line.removesuffix("\r")
        if unbroken.endswith("\\"):
            whole += unbroken[:-1]
            continue
        stripped = (whole + line).strip(_SPACE)
        if stripped and not stripped.startswith("#"):
            yield first, stripped
        whole, first = "", 0


def _is_host(line: str) -> bool:
    return line.strip().lower().startswith((f"<{_HOST}", f"</{_HOST}"))


def _refusals(directives: Iterable[tuple[int, str]], knobs: Mapping[str, Any]) -> Iterator[Wrong]:
    """Yield lines and what is wrong with them."""
    of_knobs = set_by_knobs(_OF_KNOBS, knobs)
    hosts = 0
    for line, directive in directives:
        name = directive.split(maxsplit=1)[0].rstrip(">")
        low = name.lower()
        if low in _REFUSED:
            yield line, f"{name.lstrip('<')}: {_REFUSED[low]}"
        elif not _PLAIN.fullmatch(name):
            yield line, f"{name}: {UNQUOTED}"
        elif _FILES.fullmatch(low) or _OF_EXPRESSIONS.search(directive):
            yield line, f"{name}: {ONE_FILE}"
        elif low in of_knobs:
            yield line, f"{name}: {of_knobs[low]}"
        elif "${" in directive:
            yield line, f"{name}: ${{…}} depends on more than the file: write the value"
        elif low == f"<{_HOST}":
            hosts += 1
            if hosts > 1:
                yield line, "VirtualHost: the laboratory has one of it"
            elif not _OWN_HOST.fullmatch(directive):
                yield line, "VirtualHost: the laboratory sets address and port of its one server: write *:443"
