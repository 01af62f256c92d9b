"""The configuration that a user brings: refused by the line, or merged with the laboratory's.

The parts of the user's file are included where they belong, as files of their own in which everything else is blank.
So nginx itself names the lines that the user knows.
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

from nginx_adapter.tokens import Directive, everything, only, parse, without

_HTTP, _SERVER, _EVENTS = "http", "server", "events"
_WITH_DATA = ("map", "geo", "types", "split_clients", "charset_map")
"""Blocks whose lines are data, and no directives."""

_REASONS = {
    "the laboratory sets address, port and protocol of its one server": ("listen",),
    "the study's key protocol decides it": ("http2", "http3"),
    "the laboratory sets certificate and key": ("ssl_certificate", "ssl_certificate_key"),
    "TLS 1.3 is the same for all arms": ("ssl_protocols",),
    "the laboratory sets the files that are served": ("root", "alias"),
    "the laboratory reads its own logs": ("access_log", "error_log"),
    "the laboratory starts and ends the program": ("daemon", "master_process", "pid", "lock_file", "user"),
    "a trial has one worker on one processor": ("worker_processes",),
    "the program has a folder and an environment of the laboratory": (
        *("working_directory", "env"),
        *(f"{name}_temp_path" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")),
    ),
    "a trial has this one file: write the lines here": ("include",),
    ONE_FILE: (
        *("ssl_dhparam", "auth_basic_user_file", "ssl_trusted_certificate", "ssl_client_certificate", "ssl_crl"),
        *("ssl_session_ticket_key", "ssl_password_file", "ssl_stapling_file", "ssl_ech_file", "quic_host_key"),
        *("ssl_engine", "ssl_conf_command", "xslt_stylesheet", "xml_entities", "geoip2"),
    ),
    "the program leaves no files": ("debug_points", "google_perftools_profiles"),
    "it can switch off the laboratory's headers": ("add_header_inherit",),
    "no code is loaded into the program": ("load_module",),
    "the laboratory serves HTTP alone": ("stream", "mail"),
}
_REFUSED = by_name(_REASONS)
_CODE = re.compile(r"lua_\w+|\w+_by_lua\w*|js_\w+|perl\w*")
_FILES = re.compile(r"geoip_\w+|\w+_(?:cache_path|store)|\w+_ssl_(?:\w*certificate\w*|crl|password_file|conf_command)")
_NUMBERS = re.compile(r"^\d+#\d+: ")
"""Of the process and the thread, before what nginx reports."""
_OURS = ("$early", "$protocol")
"""Variables of the laboratory's own server block."""

_MAY_REPLACE = (
    *("worker_connections", "sendfile", "keepalive_requests", "default_type", "ssl_early_data", "quic_retry"),
    *("http2_max_concurrent_streams", "http3_max_concurrent_streams"),
)
"""Directives that the laboratory has only until a file sets them."""

_OF_KNOBS = {
    "max_incoming_streams": ("http2_max_concurrent_streams", "http3_max_concurrent_streams"),
    "stream_send_buffer": ("http3_stream_buffer_size",),
    "retry": ("quic_retry",),
    "allow_0rtt": ("ssl_early_data",),
    ALT_SVC_PORT: ("ssl_session_tickets",),
}


@dataclass(frozen=True)
class OwnConfig:
    """A user's file: its text, and the directives of each of the contexts that the laboratory has, too."""

    name: str
    text: str
    parts: Mapping[str, Sequence[Directive]]  # "" is the whole program

    @classmethod
    def of_trial(cls, knobs: Mapping[str, Any]) -> "OwnConfig | None":
        """Return the file that the laboratory names, None if there is none; BadUsageError with the lines refused."""
        found = read_own(parse, lambda _text, top: _refusals(top, knobs))
        return None if found is None else cls(found[0].name, found[1], _parts(found[2]))

    def merged(self, ours: str, folder: Path) -> str:
        """Return the laboratory's configuration with this one, whose parts are written to a folder."""
        sets = {each.name for part in self.parts.values() for each in part} & {*_MAY_REPLACE}
        ours = without(ours, [each for each in everything(parse(ours)) if each.name in sets])
        top = parse(ours)
        blocks = {each.name: each for each in everything(top) if each.inside is not None}
        ends = {"": 0} | {name: (blocks[name].inside or (0, 0))[1] for name in (_EVENTS, _HTTP, _SERVER)}
        for name, end in sorted(ends.items(), key=lambda item: item[1], reverse=True):
            if part := self.parts[name]:
                ours = f'{ours[:end]}\ninclude "{self._write(folder, name, part)}";\n{ours[end:]}'
        return ours

    def _write(self, folder: Path, context: str, part: Sequence[Directive]) -> Path:
        file = folder / f"own-{context or 'main'}.conf"
        file.write_bytes(only(self.text, part).encode())
        return file

    def check(self, program: Packaged, folder: Path, file: Path) -> None:
        """Let nginx check the merged configuration; BadUsageError, with the line if it is the user's."""
        argv = (*program.argv, "-t", "-q", "-p", str(folder), "-c", str(file), "-e", "stderr")
        done = ask_server(argv, program.env)
        if done.returncode == 0:
            return
        problems = [line.partition("[emerg] ")[2] for line in done.stderr.splitlines() if "[emerg] " in line]
        reason = "; ".join(_NUMBERS.sub("", problem) for problem in problems) or done.stderr.strip()
        own = re.compile(rf"(.*) in {re.escape(str(folder))}/own-\w+\.conf:(\d+)", re.DOTALL)
        if (found := own.fullmatch(reason)) is not None:
            raise BadUsageError(f"{self.name}:{found[2]}: nginx: {found[1]}")
        raise BadUsageError(f"{self.name}: nginx: {reason}")


def _parts(top: Sequence[Directive]) -> dict[str, list[Directive]]:
    """Return the directives of each context. A file without `http` is one of `conf.d`, which `http` has."""
    blocks = {each.name: each.children for each in top if each.name in (_HTTP, _EVENTS)}
    rest = [each for each in top if each.name not in (_HTTP, _EVENTS)]
    http = blocks.get(_HTTP, rest)
    server = [child for each in http if each.name == _SERVER for child in each.children]
    return {
        "": rest if _HTTP in blocks else [],
        _EVENTS: list(blocks.get(_EVENTS, [])),
        _HTTP: [each for each in http if each.name != _SERVER],
        _SERVER: server,
    }


def _refusals(top: Sequence[Directive], knobs: Mapping[str, Any]) -> Iterator[Wrong]:
    """Yield lines and what is wrong with them."""
    of_knobs = set_by_knobs(_OF_KNOBS, knobs)
    for each in _directives(top):
        if not PLAIN.fullmatch(each.name):
            yield each.line, f"{each.name}: {UNQUOTED}"
        elif each.name in _REFUSED:
            yield each.line, f"{each.name}: {_REFUSED[each.name]}"
        elif _CODE.fullmatch(each.name):
            yield each.line, f"{each.name}: no code runs within the program"
        elif _FILES.fullmatch(each.name):
            yield each.line, f"{each.name}: {ONE_FILE}"
        elif each.name in of_knobs:
            yield each.line, f"{each.name}: {of_knobs[each.name]}"
        elif each.name == "set" and each.words[1:2] and each.words[1] in _OURS:
            yield each.line, f"set: the laboratory has a variable {each.words[1]}: give yours another name"
    yield from _misplaced(top)


def _misplaced(top: Sequence[Directive]) -> Iterator[Wrong]:
    """Yield lines of blocks and headers that stand elsewhere, or in another form, than the laboratory can merge."""
    beside = {id(each) for each in _parts(top)[_SERVER]}
    for each in _directives(top):
        if each.name == "add_header" and id(each) not in beside:
            yield (
                each.line,
                "add_header: the laboratory's headers are in server, and one hides the other: write it there",
            )
    http = next((each.children for each in top if each.name == _HTTP), top)
    for each in [*top, *http]:
        named = (_HTTP, _EVENTS) if any(each is other for other in top) else ()
        if each.name in (*named, _SERVER) and (each.inside is None or len(each.words) != 1):
            yield each.line, f"{each.name}: write it as {each.name} {{ … }}"
    for name in (_HTTP, _EVENTS, _SERVER):
        blocks = [each for each in everything(top) if each.name == name and each.inside is not None]
        for each in blocks[1:]:
            yield each.line, f"{name}: the laboratory has one of it, and line {blocks[0].line} is the first"


def _directives(directives: Sequence[Directive]) -> Iterator[Directive]:
    """Yield all directives, and of blocks of data only what includes a file."""
    for each in directives:
        yield each
        if each.name in _WITH_DATA:
            yield from (child for child in each.children if child.name.strip("\"'") == "include")
        else:
            yield from _directives(each.children)
