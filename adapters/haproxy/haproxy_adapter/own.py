"""The configuration that a user brings: refused by the line, or merged with the laboratory's.

A section's lines of the user's come behind the laboratory's, so that a setting of both has the user's value. HAProxy
reads one file; what it says of a line of that file is said of the user's line.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longlook_adapter.debian import Packaged
from longlook_adapter.either import ALT_SVC_PORT
from longlook_adapter.errors import BadUsageError
from longlook_adapter.own_config import ONE_FILE, PLAIN, UNQUOTED, Wrong, ask_server, by_name, read_own, set_by_knobs

_MERGED, _OF_THEIR_OWN = ("global", "defaults", "frontend", "backend"), ("cache", "userlist")
_ELSEWHERE = (
    *("listen", "peers", "resolvers", "mailers", "http-errors", "ring", "log-forward", "program", "fcgi-app"),
    *("crt-store", "traces", "acme", "log-profile", "namespace_list", "healthcheck"),
)
_WORD = re.compile(r"""(?:\\.|"(?:\\.|[^"\\])*"|'[^']*'|[^ \t\r\v\f#"'\\])+|\#.*""")
_PART = re.compile(r"""\\x([0-9a-fA-F]{2})|\\(.)|"((?:\\.|[^"\\])*)"|'([^']*)'""")

_REASONS = {
    "the laboratory sets address, port, protocol, certificate and key": ("bind",),
    "the laboratory's origin has the files": (
        "server",
        "server-template",
        "default_backend",
        "use_backend",
        "dispatch",
    ),
    "the laboratory reads its own log": ("log", "log-format", "log-format-sd", "error-log-format", "log-tag"),
    "the laboratory starts and ends the program": (
        *("daemon", "master-worker", "pidfile", "user", "group", "uid", "gid", "chroot", "stats"),
        *("setenv", "presetenv", "unsetenv", "resetenv", "insecure-setuid-wanted", "unix-bind", "localpeer"),
    ),
    "a trial has one thread on one processor": ("nbthread", "nbproc", "thread-groups", "cpu-map", "cpu-policy"),
    ONE_FILE: (
        *("errorfile", "errorfiles", "ca-base", "crt-base", "key-base", "ssl-dh-param-file", "default-path"),
        *("ssl-engine", "ssl-provider", "ssl-provider-path", "ssl-propquery", "issuers-chain-path"),
        *("server-state-file", "server-state-base", "load-server-state-from-file", "h1-case-adjust-file"),
        *("stats-file", "default-server", "httpclient.ssl.ca-file"),
    ),
    "the program starts no other one": ("external-check", "insecure-fork-wanted"),
}
_REFUSED = by_name(_REASONS)
_LOGS = ("httplog", "httpslog", "tcplog", "dontlog-normal", "clf")
_OTHER_FILES = ("-f", "file", "lf-file", "errorfile", "errorfiles", "spoe", "ca-file", "crt", "crl-file")
_OF_EXPRESSIONS = re.compile(r"(?:^|[^\w.])map(?:_\w+)?\(|(?:add|del|set)-(?:acl|map)\(")
_OF_KNOBS = {
    "max_window": ("tune.quic.frontend.default-max-window-size",),
    "retry": ("tune.quic.retry-threshold",),
    "max_incoming_streams": (
        *("tune.h2.max-concurrent-streams", "tune.h2.fe.max-concurrent-streams"),
        "tune.quic.frontend.max-streams-bidi",
    ),
    "hystart": ("tune.quic.cc-hystart",),
    "pacing": ("tune.quic.disable-tx-pacing",),
    "initial_connection_window": ("tune.quic.frontend.max-data-size",),
    ALT_SVC_PORT: ("ssl-default-bind-options", "tune.ssl.cachesize"),
}


@dataclass(frozen=True)
class _Section:
    """A section of the user's file: its keyword, the line that begins it, and its lines by their numbers."""

    keyword: str
    line: int
    heading: str
    lines: Sequence[tuple[int, str]]


@dataclass(frozen=True)
class OwnConfig:
    """A user's file by its sections."""

    name: str
    sections: Sequence[_Section]

    @classmethod
    def of_trial(cls, knobs: Mapping[str, Any]) -> "OwnConfig | None":
        """Return the file that the laboratory names, None if there is none; BadUsageError with the lines refused."""
        found = read_own(_read, lambda _text, read: [*read[1], *_refusals(read[0], knobs)])
        return None if found is None else cls(found[0].name, found[2][0])

    def merged(self, ours: str) -> tuple[str, list[int]]:
        """Return the laboratory's configuration with this one, and of each line the user's, 0 for another line."""
        lines: list[tuple[str, int]] = []
        left = list(self.sections)

        def add(keyword: str) -> None:
            for section in [each for each in left if each.keyword == keyword]:
                lines.extend((text, number) for number, text in section.lines)
                left.remove(section)

        here = ""
        for text in ours.splitlines():
            if text and not text[0].isspace():
                add(here)
                here = text.split()[0]
            lines.append((text, 0))
        add(here)
        for section in left:
            lines += [(section.heading, section.line), *((text, number) for number, text in section.lines)]
        return "".join(f"{text}\n" for text, _ in lines), [number for _, number in lines]

    def check(self, program: Packaged, file: Path, origins: Sequence[int]) -> None:
        """Let HAProxy check the merged configuration; BadUsageError, with the line if it is the user's."""
        done = ask_server((*program.argv, "-c", "-f", str(file)), program.env)
        if done.returncode == 0:
            return
        alerts = [line.partition(" : ")[2] for line in done.stderr.splitlines() if "[ALERT]" in line]
        place = re.compile(rf"(?:config : )?parsing \[{re.escape(str(file))}:(\d+)\] ?: ?(.*)")
        reasons = []
        for alert in alerts:
            found = place.fullmatch(alert)
            line = origins[int(found[1]) - 1] if found is not None else 0
            if found is not None:
                reasons.append(f"{self.name}{f':{line}' if line else ''}: HAProxy: {found[2]}")
        raise BadUsageError("; ".join(reasons) or f"{self.name}: HAProxy: {'; '.join(alerts) or done.stderr.strip()}")


def _read(text: str) -> tuple[list[_Section], list[Wrong]]:
    """Return the sections of a file, and lines that are in none or in one that cannot be, each with the reason."""
    sections: list[_Section] = []
    wrong: list[tuple[int, str]] = []
    lines: list[tuple[int, str]] = []
    inside = False
    for number, line in enumerate((each.rstrip("\r") for each in text.split("\n")), 1):
        words = words_of(line)
        keyword = words[0] if words else ""
        if words and (reason := _unclear(line, words)):
            wrong.append((number, reason))
        elif keyword in (*_MERGED, *_OF_THEIR_OWN):
            lines, inside = [], True
            sections.append(_Section(keyword, number, line, lines))
        elif keyword in _ELSEWHERE:
            allowed = ", ".join((*_MERGED, *_OF_THEIR_OWN))
            wrong.append((number, f"section {keyword}: the laboratory takes {allowed}"))
            lines, inside = [], True
        elif keyword.startswith("."):
            wrong.append((number, f"{keyword}: a trial has one configuration, without conditions"))
        elif words and not inside:
            wrong.append((number, f"{keyword}: it stands before the first section"))
        elif words:
            lines.append((number, line))
    return sections, wrong


def _unclear(line: str, words: Sequence[str]) -> str:
    """Return why a line cannot be read for certain; "" if it can."""
    if _WORD.sub("", line).strip(" \t\r\v\f"):
        return f"{words[0]}: a text in quotes does not end"
    for name in words[: 2 if words[0] in ("no", "default") else 1]:
        if not PLAIN.fullmatch(name):
            return f"{name}: {UNQUOTED}"
    for word in words:
        quoted = [part[3] for part in _PART.finditer(word) if part[3] is not None]
        if "${" in word or any("$" in re.sub(r"\\.", "", text) for text in quoted):
            return f"{words[0]}: $ in double quotes, and ${{…}}, depend on more than the file: write the value"
    return ""


def _unquoted(word: str) -> str:
    """Return what HAProxy reads for a word."""

    def read(part: re.Match[str]) -> str:
        code, character, double, single = part.groups()
        if code is not None:
            return chr(int(code, 16))
        return _unquoted(double) if double is not None else character if single is None else single

    return _PART.sub(read, word)


def words_of(line: str) -> list[str]:
    """Return the words of a line, without its comment."""
    return [word for word in _WORD.findall(line) if not word.startswith("#")]


def _refusals(sections: Sequence[_Section], knobs: Mapping[str, Any]) -> Iterator[Wrong]:
    """Yield lines and what is wrong with them."""
    first: dict[str, int] = {}
    of_knobs = set_by_knobs(_OF_KNOBS, knobs)
    for section in sections:
        known = first.setdefault(section.keyword, section.line)
        if section.keyword in _MERGED and known != section.line:
            yield section.line, f"{section.keyword}: the laboratory has one of it, and line {known} is the first"
        if section.keyword == "defaults" and "from" in words_of(section.heading):
            yield section.line, "defaults: the laboratory has one of it, which is from no other"
        if section.keyword in _OF_THEIR_OWN:
            continue
        for number, line in section.lines:
            words = [_unquoted(word) for word in words_of(line)]
            name = words[1] if words[0] in ("no", "default") and len(words) > 1 else words[0]
            if name in _REFUSED:
                yield number, f"{name}: {_REFUSED[name]}"
            elif name.startswith("lua-"):
                yield number, f"{name}: no code is loaded into the program"
            elif others := sorted({*words[1:]} & {*_OTHER_FILES}) or _OF_EXPRESSIONS.findall(" ".join(words)):
                yield number, f"{name}: {others[0].strip()}: {ONE_FILE}"
            elif {*words} & {"set-log-level", "do-log"}:
                yield number, f"{name}: the laboratory reads its own log"
            elif name == "mode" and words[1:] != ["http"]:
                yield number, "mode: the laboratory serves HTTP"
            elif name == "option" and {*words} & {*_LOGS}:
                yield number, f"option {words[-1]}: the laboratory reads its own log"
            elif name in of_knobs:
                yield number, f"{name}: {of_knobs[name]}"
