"""The configuration that a user brings, a Caddyfile: refused by the line, or merged with the laboratory's.

Caddy's own adapter turns it into JSON, whose routes come before the laboratory's, and whose settings of servers come
beside its. Caddy itself names the lines that the user knows, since it reads the user's file.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longlook_adapter.errors import AdapterError, BadUsageError
from longlook_adapter.own_config import ONE_FILE, UNQUOTED, Wrong, ask_server, by_name, read_own

from caddy_adapter.caddyfile import Statement, everything, parse

Data = dict[str, Any]

_ADDRESS = ":443"

_OPTIONS = {
    "the laboratory starts and ends the program": ("admin", "persist_config", "storage", "storage_clean_interval"),
    "the laboratory sets address and port": ("http_port", "https_port", "default_bind"),
    "the laboratory sets certificate and key": (
        *("auto_https", "email", "default_sni", "fallback_sni", "local_certs", "skip_install_trust", "pki"),
        *("acme_ca", "acme_ca_root", "acme_eab", "acme_dns", "on_demand_tls", "key_type", "cert_issuer"),
        *("cert_lifetime", "renew_interval", "ocsp_interval", "ocsp_stapling", "preferred_chains", "ech", "dns"),
        *("renewal_window_ratio", "tls_resolvers"),
    ),
    "the laboratory reads its own log": ("log", "debug"),
    "a trial ends at once": ("grace_period", "shutdown_delay"),
    "the program starts no other one": ("events",),
    ONE_FILE: ("filesystem",),
    "the study's key protocol decides it": ("protocols",),
    "the laboratory's listener is its own": ("listener_wrappers", "packet_conn_wrappers"),
}
_OF_SITE = {
    "the laboratory sets address and port": ("bind",),
    "the laboratory sets certificate and key": ("tls", "acme_server"),
    "the laboratory sets the files that are served": ("root", "file_server"),
    "the laboratory reads its own log": ("log", "log_skip", "log_name", "skip_log", "log_append"),
    "the program starts no other one": ("exec",),
    ONE_FILE: ("templates", "fs"),
}
_REFUSED_OPTIONS, _REFUSED_OF_SITE = by_name(_OPTIONS), by_name(_OF_SITE)
_ENTERED = ("handle", "handle_path", "route", "handle_errors", "handle_response", "intercept", "import")
_ENTERED_FOR_ANSWERS = ("reverse_proxy", "forward_auth", "php_fastcgi")
"""Blocks that have statements of a site, and such that have blocks of these."""
_PLAIN = re.compile(r"@?[A-Za-z0-9_.-]+")
_OUTSIDE = re.compile(r"\{(?:\$|(?:file|env|system)\.)")
_OF_TLS = ("tls_client_auth", "tls_trusted_ca_certs", "tls_trust_pool")
_OURS = ("listen", "protocols", "automatic_https", "logs")
"""What the laboratory sets of its server, and a Caddyfile without the refused lines may be given by Caddy's adapter."""


@dataclass(frozen=True)
class OwnConfig:
    """A user's Caddyfile."""

    file: Path

    @classmethod
    def of_trial(cls) -> "OwnConfig | None":
        """Return the file that the laboratory names, None if there is none; BadUsageError with the lines refused."""
        found = read_own(parse, lambda text, top: [*_outside(text), *_refusals(top)])
        return None if found is None else cls(found[0])

    def merged(self, ours: Data, binary: str, env: Mapping[str, str]) -> Data:
        """Return the laboratory's configuration with this one; BadUsageError for what Caddy's adapter refuses."""
        argv = (binary, "adapt", "--config", str(self.file), "--adapter", "caddyfile")
        theirs: Data = json.loads(self._asked(argv, env))
        apps = theirs.pop("apps", {})
        http = apps.pop("http", {})
        servers = list(http.pop("servers", {}).values())
        if others := [*theirs, *apps] or (["several servers"] if len(servers) > 1 else []):
            raise BadUsageError(f"{self.file.name}: it makes {others[0]}, which the laboratory does not take")
        own_http: Data = ours["apps"]["http"]
        server: Data = own_http["servers"]["server"]
        for found in servers:
            *first, files = server["routes"]
            server["routes"] = [*first, *found.pop("routes", []), files]
            for name in _OURS:
                found.pop(name, None)
            if found.get("tls_connection_policies") in ([], [{}]):
                del found["tls_connection_policies"]
            _put(server, found, self.file.name)
        _put(own_http, http, self.file.name)
        return ours

    def check(self, binary: str, file: Path, env: Mapping[str, str]) -> None:
        """Let Caddy check the merged configuration; BadUsageError for what it refuses."""
        self._asked((binary, "validate", "--config", str(file)), env)

    def _asked(self, argv: Sequence[str], env: Mapping[str, str]) -> str:
        """Return what Caddy prints; BadUsageError with its error, in which places are the user's."""
        try:
            done = ask_server(argv, env)
        except OSError as error:
            raise AdapterError(f"{argv[0]} does not run: {error}") from error
        if done.returncode == 0:
            return done.stdout
        reason = " ".join(filter(None, map(_error_in, done.stderr.splitlines()))) or f"exit code {done.returncode}"
        reason, line = " ".join(reason.split()), ""
        if (place := re.search(rf"(?:, at )?{re.escape(str(self.file))}:(\d+):? ?", reason)) is not None:
            reason, line = reason[: place.start()] + reason[place.end() :], f":{place[1]}"
        raise BadUsageError(f"{self.file.name}{line}: Caddy: {reason}")


def _error_in(line: str) -> str:
    """Return the error that a line of Caddy's output reports, "" if it reports none."""
    if line.startswith("{"):
        entry = json.loads(line)
        return str(entry.get("msg")) if entry.get("level") in ("error", "fatal") else ""
    return line.removeprefix("Error: ") if line.startswith("Error: ") else ""


def _put(into: Data, given: Data, name: str) -> None:
    """Put settings beside those that there are; BadUsageError for one that there is."""
    if both := sorted(into.keys() & given.keys()):
        raise BadUsageError(f"{name}: it sets {both[0]} of Caddy's JSON, which the laboratory sets")
    into.update(given)


def _outside(text: str) -> Iterator[Wrong]:
    """Yield lines that take a value from the environment, a file or the machine."""
    for line, part in enumerate(text.split("\n"), 1):
        if (found := _OUTSIDE.search(part)) is not None:
            yield line, f"{found[0]}…}}: it depends on more than the file: write the value"


def _refusals(top: Sequence[Statement]) -> Iterator[Wrong]:
    """Yield lines and what is wrong with them."""
    snippets = {each.words[0][1:-1] for each in top if each.words and _is_snippet(each)}
    for each in everything(top):
        name = each.words[0] if each.words else ""
        if "{args" in name or "{block" in name or (name[:1] in '"`' and name.strip('"`') == "import"):
            yield each.line, f"{name}: {UNQUOTED}"
        if name in _OF_TLS:
            yield each.line, f"{name}: {ONE_FILE}"
        if each.words[:1] == ("import",) and not {*each.words[1:2]} <= snippets:
            yield each.line, "import: a trial has this one file: write the lines here"
    sites = []
    for each in top:
        if not each.words:
            yield from _refused(everything(each.children), _REFUSED_OPTIONS)
        elif not _is_snippet(each):
            sites.append(each)
            if each.words != (_ADDRESS,):
                yield each.line, f"{' '.join(each.words)}: the laboratory has one site: write its address as {_ADDRESS}"
        if each.words:
            yield from _refused(each.children, _REFUSED_OF_SITE)
        if each.words and _is_snippet(each):  # the global options may import it
            yield from _refused(everything(each.children), _REFUSED_OPTIONS, plain=False)
    for each in sites[1:]:
        yield each.line, f"{each.words[0]}: the laboratory has one site, and line {sites[0].line} is the first"


def _is_snippet(statement: Statement) -> bool:
    return statement.words[0].startswith("(") and statement.words[0].endswith(")")


def _refused(statements: Iterable[Statement], reasons: Mapping[str, str], *, plain: bool = True) -> Iterator[Wrong]:
    """Yield lines whose name has a reason, or is not `plain` if it is to be."""
    for each in statements:
        name = each.words[0] if each.words else "{"
        if name in reasons:
            yield each.line, f"{name}: {reasons[name]}"
        elif plain and not _PLAIN.fullmatch(name):
            yield each.line, f"{name}: {UNQUOTED}"
        if name in _ENTERED:
            yield from _refused(each.children, reasons, plain=plain)
        elif name in _ENTERED_FOR_ANSWERS:
            answers = [child for child in each.children if child.words[:1] and child.words[0] in _ENTERED]
            yield from _refused(answers, reasons, plain=plain)
