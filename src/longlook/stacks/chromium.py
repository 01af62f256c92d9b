"""Chromium, the system's own, headless and warm, driven over the DevTools protocol (adapters/chromium)."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
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
    file_digest,
)
from longlook.provision import players, shared_digest, sources_digest

_NAME = "chromium"
_SYSTEM = "system"
"""The only version: the system's package manager has installed it. The driver's `ready` line reports it."""

_HINT = "sudo apt-get install --no-install-recommends chromium, or set LONGLOOK_CHROMIUM to a Chromium binary"
_VERSION_LIMIT_S = 30.0
_DECODES = (
    "data:text/html,<script>document.write(MediaSource.isTypeSupported('video/mp4; codecs=\"avc1.640028\"'))</script>"
)

_BINARIES: Mapping[str, str] = {
    "chromium": "/usr/lib/chromium/chromium",
    "chromium-browser": "/usr/lib/chromium-browser/chromium-browser",
    "google-chrome": "/opt/google/chrome/chrome",
    "google-chrome-stable": "/opt/google/chrome/chrome",
}
"""Command in PATH → the browser behind it: the commands are shell scripts that add flags of their own."""


def find_browser() -> Path:
    """Return the browser's binary: LONGLOOK_CHROMIUM, else one in PATH; MachineError if there is none."""
    if override := os.environ.get("LONGLOOK_CHROMIUM"):
        if shutil.which(override) is None:
            raise MachineError(f"LONGLOOK_CHROMIUM: {override} is not a program", _HINT)
        return Path(override)
    for command, binary in _BINARIES.items():
        if found := shutil.which(command):
            return Path(shutil.which(binary) or found)
    raise MachineError(f"no Chromium here: none of {', '.join(_BINARIES)} is in PATH", _HINT)


def browser_version(browser: Path) -> str:
    """Return the version that the browser reports, e.g. `156.0.8078.79`; MachineError if it does not run."""
    try:
        answer = subprocess.run(
            (str(browser), "--version"), capture_output=True, text=True, check=False, timeout=_VERSION_LIMIT_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MachineError(f"{browser} does not run: {error}", _HINT) from error
    version = re.search(r"\d+(?:\.\d+){3}", answer.stdout)
    if answer.returncode != 0 or version is None:
        output = (answer.stderr or answer.stdout).strip()
        raise MachineError(f"{browser} --version exited with {answer.returncode}: {output}", _HINT)
    return version[0]


def check_decoder() -> None:
    """Raise MachineError if this Chromium cannot decode H.264: a headless one is asked, which takes a second."""
    browser = find_browser()
    with tempfile.TemporaryDirectory(prefix="longlook-") as profile:
        command = (str(browser), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}")
        try:
            answer = subprocess.run(
                (*command, "--dump-dom", _DECODES),
                capture_output=True,
                text=True,
                check=False,
                timeout=_VERSION_LIMIT_S,
                env={**os.environ, "HOME": profile},
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise MachineError(f"{browser} does not run: {error}", _HINT) from error
    if "<body>false" in answer.stdout:
        raise MachineError(f"{browser} cannot decode H.264", "install one that can, as Debian's chromium")
    if "<body>true" not in answer.stdout:
        raise MachineError(f"{browser} does not say whether it decodes H.264: {answer.stderr.strip()[-200:]}", _HINT)


def install(version: str) -> Program:
    """Return the system's browser; its digest covers the browser's version and the driver's sources."""
    STACK.version(version)
    browser = find_browser()
    driver = _driver()
    if not driver.is_file():
        raise MachineError(f"there is no {driver}", "set LONGLOOK_ADAPTERS to the adapters/ of a checkout")
    sources = sorted(path for path in driver.parent.rglob("*") if path.suffix == ".py")
    digest = content_hash(
        {
            "browser": browser_version(browser),
            "driver": [(str(source.relative_to(driver.parent)), file_digest(source)) for source in sources],
            "common": shared_digest(),
            "players": players.folder().name,
            "page of players": sources_digest(players.page_folder()),
        },
        length=64,
    )
    return Program(str(browser), digest)


def installed(version: str) -> bool:
    """Return whether there is a browser that runs."""
    try:
        browser_version(find_browser())
    except MachineError:
        return False
    return version == _SYSTEM


def session_command(program: Program, identity: Identity) -> Command:
    """Return the driver's command for the server under test, 198.18.0.2:443 (the default of chromium_main.py)."""
    domain = identity.host.partition(".")[2]
    trust = ("--domain", domain, "--spki", identity.spki_sha256)
    resolver = ("--certificate", identity.certificate, "--key", identity.key)
    own = ("--players", str(players.folder()))
    environment = {"PYTHONPATH": f"{adapters_dir() / 'lib' / 'python'}:{players.page_folder()}"}
    return Command((sys.executable, str(_driver()), "--browser", program.path, *trust, *resolver, *own), environment)


def _driver() -> Path:
    return adapters_dir() / _NAME / "chromium_main.py"


STACK = Stack(
    name=_NAME,
    summary="Chromium of the system, headless: one warm browser, a fresh context per load",
    roles=("client",),
    protocols=("h3", "h2"),
    connections=(ConnectionState.COLD, ConnectionState.RESUMED, ConnectionState.ZERO_RTT),
    versions=(Version(_SYSTEM, ""),),
    knobs={"memory": MEMORY, "resolver": RESOLVER, "player": PLAYER},
    plays=True,
    players=players.RULES,
    check_decoder=check_decoder,
    either=True,
    paints=True,
    log_formats=(),
    install=install,
    session_command=session_command,
    repeats=False,  # races of its threads, and random numbers of the CPU itself
    installed=installed,
    system_package="chromium",
)
