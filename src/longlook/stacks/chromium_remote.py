"""Chromium or Chrome on another machine, a phone above all, driven over its DevTools port (adapters/chromium).

Which machines there are is this machine's matter: LONGLOOK_PHONES names them, and studies say `chromium-remote@NAME`.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from longlook.core import (
    Command,
    ConnectionState,
    Identity,
    InputError,
    MachineError,
    Program,
    Stack,
    Version,
    adapters_dir,
    cache_dir,
    content_hash,
    file_digest,
)
from longlook.provision import shared_digest

VARIABLE = "LONGLOOK_PHONES"

_NAME = "chromium-remote"
_ONLY_ONE = {"phone": "127.0.0.1:9222"}
"""The machines if no variable names any: the port that `adb forward tcp:9222 localabstract:chrome_devtools_remote`
opens.
"""

_FORM = re.compile(r"([A-Za-z0-9][A-Za-z0-9+._~-]*)=([^=\s]+:\d+)")
_HINT = "docs/guide/browsers.md shows how a phone is attached; `longlook phone` prints what it needs"
_LIMIT_S = 30.0


def phones(text: str) -> Mapping[str, str]:
    """Return name → HOST:PORT of the DevTools ports in `name=HOST:PORT,name=HOST:PORT`; InputError for another form."""
    found: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        match = _FORM.fullmatch(part)
        if match is None or match[1] in found:
            wrong = "is named twice" if match else "is no name=HOST:PORT"
            raise InputError(
                f"{VARIABLE}: {part!r} {wrong}", f'as in {VARIABLE}="motog=127.0.0.1:9222,lan=10.0.0.7:9222"'
            )
        found[match[1]] = match[2]
    return found or _ONLY_ONE


_PHONES = phones(os.environ.get(VARIABLE, ""))


def install(version: str) -> Program:
    """Ask the machine for its browser, and return a file that says which it is; MachineError if none answers.

    Nothing is installed. The digest covers the browser's version and the driver's sources.
    """
    described = describe(version)
    file = _file(version)
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_suffix(f".{os.getpid()}")
    partial.write_text(json.dumps(described))
    partial.rename(file)
    sources = sorted(_driver().parent.rglob("*.py"))
    digest = content_hash(
        {
            "browser": {key: value for key, value in described.items() if key != "endpoint"},
            "driver": [(str(source.relative_to(_driver().parent)), file_digest(source)) for source in sources],
            "common": shared_digest(),
        },
        length=64,
    )
    return Program(str(file), digest)


def installed(version: str) -> bool:
    """Return whether the machine was asked before. Whether it is there now only a run can find out."""
    return version in _PHONES and _file(version).is_file()


def describe(version: str) -> Mapping[str, str]:
    """Return which browser answers on a machine: `endpoint`, `browser`, `user_agent`, `package` (of Android).

    Raise MachineError if none does.
    """
    found: Mapping[str, str] = json.loads(_call("describe", endpoint(version)))
    return found


def flags(identity: Identity, *, early_data: bool) -> list[str]:
    """Return the flags that the browser has to be started with; names that no browser was started with before."""
    without = () if early_data else ("--without-early-data",)
    return _call("flags", *without, *_trust(identity)).splitlines()


def command_line(flags: Sequence[str]) -> str:
    """Return flags as one line, for a shell and for Android's file of flags alike."""
    return " ".join(f'"{flag}"' if " " in flag else flag for flag in flags)


def endpoint(version: str) -> str:
    """Return HOST:PORT of a machine's DevTools port."""
    STACK.version(version)
    return _PHONES[version]


def session_command(program: Program, identity: Identity) -> Command:
    """Return the driver's command for the server under test, 198.18.0.2:443 (the default of remote_main.py)."""
    argv = (sys.executable, str(_driver()), "session", "--browser", program.path, *_trust(identity))
    return Command(argv, _environment())


def _trust(identity: Identity) -> tuple[str, ...]:
    return ("--domain", identity.host.partition(".")[2], "--spki", identity.spki_sha256)


def _call(*arguments: str) -> str:
    """Return what the driver prints; MachineError with its reason if it fails."""
    done = subprocess.run(
        (sys.executable, str(_driver()), *arguments),
        env={**os.environ, **_environment()},
        capture_output=True,
        text=True,
        check=False,
        timeout=_LIMIT_S,
    )
    if done.returncode == 0:
        return done.stdout
    try:
        reason = json.loads(done.stdout)["reason"]
    except (ValueError, KeyError):
        reason = done.stderr.strip() or f"the driver exited with {done.returncode}"
    raise MachineError(reason, _HINT)


def _environment() -> dict[str, str]:
    return {"PYTHONPATH": str(adapters_dir() / "lib" / "python")}


def _driver() -> Path:
    driver = adapters_dir() / "chromium" / "remote_main.py"
    if not driver.is_file():
        raise MachineError(f"there is no {driver}", "set LONGLOOK_ADAPTERS to the adapters/ of a checkout")
    return driver


def _file(version: str) -> Path:
    return cache_dir() / "phones" / f"{version}.json"


STACK = Stack(
    name=_NAME,
    summary="Chromium on another machine, such as a phone: driven over its DevTools port, in real time alone",
    roles=("client",),
    protocols=("h3", "h2"),
    connections=(ConnectionState.COLD, ConnectionState.RESUMED, ConnectionState.ZERO_RTT),
    versions=tuple(Version(name, "") for name in _PHONES),
    knobs={},
    paints=True,
    log_formats=(),
    install=install,
    session_command=session_command,
    repeats=False,
    remote=True,
    installed=installed,
)
