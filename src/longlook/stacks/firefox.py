"""Firefox ESR, the system's own, headless and warm, driven over WebDriver BiDi (adapters/firefox)."""

import os
import re
import shutil
import sys
from pathlib import Path

from longlook.core import (
    MEMORY,
    PLAYER,
    RESOLVER,
    Command,
    ConnectionState,
    Identity,
    MachineError,
    Program,
    Stack,
    Version,
    adapters_dir,
    content_hash,
)
from longlook.provision import decoder, players, shared_digest, sources_digest

_NAME = "firefox"
_SYSTEM = "system"
"""The only version: the system's package manager has installed it. The driver's `ready` line reports it."""

_HINT = "sudo apt-get install --no-install-recommends firefox-esr, or set LONGLOOK_FIREFOX to a Firefox binary"
_COMMANDS = ("firefox-esr", "firefox")


def find_browser() -> Path:
    """Return the browser's binary: LONGLOOK_FIREFOX, else one in PATH; MachineError if there is none."""
    if override := os.environ.get("LONGLOOK_FIREFOX"):
        if shutil.which(override) is None:
            raise MachineError(f"LONGLOOK_FIREFOX: {override} is not a program", _HINT)
        return Path(override).resolve()
    for command in _COMMANDS:
        if found := shutil.which(command):
            return Path(found).resolve()
    raise MachineError(f"no Firefox here: none of {', '.join(_COMMANDS)} is in PATH", _HINT)


def browser_version(browser: Path) -> str:
    """Return version and build from `application.ini` next to the binary; MachineError if it has none."""
    try:
        text = browser.with_name("application.ini").read_text()
    except OSError as error:
        raise MachineError(f"{browser} is not a Firefox: {error}", _HINT) from error
    found = dict(re.findall(r"^(Version|BuildID)=(\S+)$", text, re.MULTILINE))
    if found.keys() != {"Version", "BuildID"}:
        raise MachineError(f"{browser} does not contain its version", _HINT)
    return f"{found['Version']} {found['BuildID']}"


def install(version: str) -> Program:
    """Return the system's browser; its digest covers the browser's version and the driver's sources."""
    STACK.version(version)
    browser = find_browser()
    if not _driver().is_file():
        raise MachineError(f"there is no {_driver()}", "set LONGLOOK_ADAPTERS to the adapters/ of a checkout")
    sources = (sources_digest(_driver().parent), shared_digest(), sources_digest(players.page_folder()))
    parts = [browser_version(browser), *sources, players.folder().name, decoder.folder().name]
    return Program(str(browser), content_hash(parts, length=64))


def installed(version: str) -> bool:
    """Return whether there is a browser."""
    try:
        browser_version(find_browser())
    except MachineError:
        return False
    return version == _SYSTEM


def session_command(program: Program, identity: Identity) -> Command:
    """Return the driver's command for the server under test, 198.18.0.2:443 (the default of firefox_main.py)."""
    domain = identity.host.partition(".")[2]
    trust = ("--domain", domain, "--ca", identity.ca)
    resolver = ("--certificate", identity.certificate, "--key", identity.key)
    own = ("--players", str(players.folder()), "--decoder", str(decoder.folder()))
    environment = {"PYTHONPATH": f"{adapters_dir() / 'lib' / 'python'}:{players.page_folder()}"}
    return Command((sys.executable, str(_driver()), "--browser", program.path, *trust, *resolver, *own), environment)


def check_decoder() -> None:
    """Raise MachineError if this Firefox would not decode H.264."""
    decoder.check(find_browser())


def _driver() -> Path:
    return adapters_dir() / _NAME / "firefox_main.py"


STACK = Stack(
    name=_NAME,
    summary="Firefox ESR of the system, headless: one warm browser, a fresh user context per load",
    roles=("client",),
    protocols=("h3", "h2"),
    connections=(ConnectionState.COLD,),
    versions=(Version(_SYSTEM, ""),),
    knobs={"memory": MEMORY, "resolver": RESOLVER, "player": PLAYER},
    plays=True,
    players=players.RULES,
    lacks_decoder=True,
    check_decoder=check_decoder,
    either=True,
    paints=True,
    log_formats=(),
    install=install,
    session_command=session_command,
    repeats=False,  # threads that race, as in the other browser
    one_certificate=True,  # SEC_ERROR_REUSED_ISSUER_AND_SERIAL: padded certificates differ in the padding alone
    installed=installed,
    system_package="firefox-esr",
)
