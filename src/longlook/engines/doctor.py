"""Examines what this machine has and lacks; every unmet need has the command that meets it."""

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from longlook.core import LonglookError, Stack, link_program, paths, registry
from longlook.engines.virtual.probe import find_guest, note_on
from longlook.lab import capability
from longlook.provision import debian, encoder, guest_kernel, pins, players

_VIRTUAL_TIME = "virtual time"
_BOX_HINT = "docs/explanation/virtual-time.md says what each layer is, and what a machine needs for it"


@dataclass(frozen=True)
class Need:
    """One thing that Longlook uses. Without a `required` one nothing can run; real time is, if no guest boots.

    `detail` is what was found, `fix` the command that meets the need (None if there is nothing to do).
    """

    name: str
    met: bool
    detail: str
    fix: str | None
    required: bool = True


def examine() -> list[Need]:
    """Return every need, in the order in which one would meet them."""
    video = (_encoder(), _players(), *_decoders())
    virtual = [*_guest_kernel()]
    works = any(need.met for need in virtual if need.name == _VIRTUAL_TIME)
    return [*_tools(), *_link(), *_laboratory(required=not works), *virtual, *_stacks(), *video, *_space()]


def _tools() -> Iterator[Need]:
    yield _tool(
        "go", ["go", "version"], "install Go 1.26 or newer (1.21 fetches it by itself)", required=not _built("quic-go")
    )
    yield _tool("cargo", ["cargo", "--version"], "install Rust 1.85 or newer with rustup", required=False)


def _tool(name: str, command: list[str], fix: str, *, required: bool) -> Need:
    if shutil.which(name) is None:
        return Need(name, met=False, detail="not in PATH", fix=fix, required=required)
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    return Need(name, met=done.returncode == 0, detail=done.stdout.strip(), fix=fix, required=required)


def _built(stack_name: str) -> bool:
    stack = registry.stack(stack_name)
    return stack.is_installed(stack.default_version)


def _link() -> Iterator[Need]:
    try:
        program = link_program()
    except LonglookError as error:
        yield Need("link emulator", met=False, detail=error.message, fix=error.hint or "make build")
    else:
        yield Need("link emulator", met=True, detail=f"sha256 {program.digest[:12]}", fix=None)


def _laboratory(*, required: bool) -> Iterator[Need]:
    found = capability.check()
    for capable in found:
        yield Need(capable.need, capable.met, capable.detail, capable.hint, required and capable.required)
    missing = [capable.need for capable in found if capable.required and not capable.met]
    yield Need(
        "real time",
        met=not missing,
        detail=f"not without {', '.join(missing)}" if missing else "all that --engine live needs is there",
        fix="meet the needs above, or stay in virtual time",
        required=required,
    )


def _guest_kernel() -> Iterator[Need]:
    kernel = guest_kernel.readiness()
    yield Need("guest kernel", kernel.ready, kernel.detail, kernel.hint, required=False)
    if not kernel.ready:
        return
    try:
        guest = find_guest()
    except LonglookError as error:
        yield Need(_VIRTUAL_TIME, met=False, detail=error.message, fix=error.hint)
    else:
        detail = f"a guest boots and runs its programs by {guest.userspace}"
        yield Need(_VIRTUAL_TIME, met=True, detail=note_on(guest) or detail, fix=None)
        yield Need("guests' box", not guest.box.missing, str(guest.box), _BOX_HINT, required=False)


def _stacks() -> Iterator[Need]:
    for name, stack in registry.stacks().items():
        if not stack.versions:  # the user brings them
            continue
        try:
            yield _stack(name, stack)
        except LonglookError as error:  # what longlook-prebuilt brings is copied now; a variant needs `patch`
            yield Need(f"stack {name}", met=False, detail=error.message, fix=error.hint, required=False)


def _stack(name: str, stack: Stack) -> Need:
    version, others = stack.default_version, len(stack.versions) - 1
    ready = stack.is_installed(version)
    if stack.remote:
        # Whether it is there now only a run asks, so that a phone that was taken away is no fault of this machine.
        detail = f"{version} {'answered when it was last asked' if ready else 'was never asked'}"
        return Need(f"stack {name}", ready, detail, "see docs/guide/browsers.md", required=False)
    found = f"installed{_others(stack)}" if ready else "not installed"
    older = f"; {others} older available: longlook setup {name}@VERSION" if others else ""
    return Need(f"stack {name}", ready, f"{version} is {found}{older}", f"longlook setup {name}", required=False)


def _encoder() -> Need:
    fetched = encoder.is_fetched()
    detail = f"ffmpeg {encoder.VERSION} {'is' if fetched else 'was not yet'} fetched"
    fix = 'the first study with content = "cmaf" fetches it; that needs uv (make build) and an index of Python packages'
    return Need("encoder of videos", fetched, detail, fix, required=False)


def _players() -> Need:
    labels = " and ".join(each.label for each in players.PLAYERS.values())
    fetched = players.are_fetched()
    fix = "the first study with a browser's knob player fetches them; that needs npm (sudo apt-get install npm)"
    return Need(
        "players of videos", fetched, f"{labels} {'are' if fetched else 'were not yet'} fetched", fix, required=False
    )


def _decoders() -> Iterator[Need]:
    for name, stack in registry.stacks().items():
        if not stack.players or not stack.is_installed(stack.default_version):
            continue
        try:
            stack.check_decoder()
        except LonglookError as error:
            yield Need(f"H.264 in {name}", met=False, detail=error.message, fix=error.hint, required=False)
        else:
            yield Need(f"H.264 in {name}", met=True, detail="its players see pictures", fix=None)


def _others(stack: Stack) -> str:
    """Return what the default version was made of that is not as pinned."""
    version = stack.default_version
    clauses = map(pins.deviation, debian.taken_for(stack.name, version, stack.program(version)))
    return "".join(f", with {clause}" for clause in clauses if clause)


def _space() -> Iterator[Need]:
    cache = paths.cache_dir()
    place = next(folder for folder in (cache, *cache.parents) if folder.exists())
    free_gib = shutil.disk_usage(place).free / 1024**3
    yield Need(
        "free space for the cache",
        met=free_gib >= 2,
        detail=f"{free_gib:.1f} GiB",
        fix="make room or set LONGLOOK_CACHE to a larger disk",
    )
    writable = _writable(place)
    yield Need("cache writable", met=writable, detail="yes" if writable else "no", fix="set LONGLOOK_CACHE")


def _writable(folder: Path) -> bool:
    probe = folder / ".longlook-probe"
    try:
        probe.touch()
        probe.unlink()
    except OSError:
        return False
    return True
