"""Bundles and verifications for a terminal and as JSON, and the exit code of a verification."""

from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from longlook.core import LonglookError, MachineError, codec, print_bytes, round_name
from longlook.instruments.bundle.make import MadeBundle
from longlook.instruments.bundle.rerun import Again
from longlook.instruments.bundle.verify import Verified
from longlook.terminal import Renderings, Unwrapped

_SHOWN = 5


def made_shown(made: MadeBundle) -> Renderings:
    """Return what was written, and what it leaves out."""
    data = {
        "path": str(made.path),
        "sha256": made.sha256,
        "bytes": made.size_bytes,
        "files": made.files,
        "with_paths": list(made.with_paths),
        "about": codec.encode(made.about),
    }
    return Renderings(lambda: _made(made), lambda: data)


def _made(made: MadeBundle) -> Iterator[RenderableType | Unwrapped]:
    about = made.about
    yield f"{made.path}: {made.files} files, {print_bytes(made.size_bytes)}"
    yield f"sha256 {made.sha256}"
    if not about.artefacts:
        yield "raw files of trials are not in it, but their digests; --artefacts adds them"
    for each in about.programs:
        yield f"carries {each.name}, sha256 {each.sha256[:12]}"
    for name, why in about.not_carried.items():
        yield f"does not carry {name}: {why}"
    if about.without_paths:
        yield f"paths of this machine were cut from {', '.join(about.without_paths)}"
    if made.with_paths:
        yield f"{len(made.with_paths)} raw files name paths of this machine, such as {made.with_paths[0]}"
    yield f"check it, on any machine: longlook verify {made.path}"


def verified_shown(found: Verified) -> Renderings:
    """Return what was checked, and what was found."""
    return Renderings(lambda: _verified(found), lines=lambda: [_line(found)])


def _verified(found: Verified) -> Iterator[RenderableType | Unwrapped]:
    if found.altered:
        yield from (Text(what, "red") for what in found.altered[:_SHOWN])
        if (more := len(found.altered) - _SHOWN) > 0:
            yield f"and {more} more"
        return
    if found.about is not None:
        yield "files: all as listed in SHA256SUMS"
    yield f"seals: all as sealed, of {found.trials} trials and the tables"
    if found.tables:
        yield f"analysis anew: {', '.join(f'{name} {_same(same)}' for name, same in found.tables.items())}"
    if left := found.trials - found.exact:
        yield f"{left} trials do not repeat to the byte (browsers, real time), and were not drawn"
    if not found.again:
        yield "no trial was run again"
        return
    for each in found.deviations[:_SHOWN]:
        yield f"not as in the run: {each}"
    others = sum(each.other_programs for each in found.again)
    by = f", {others} of them by programs with other digests" if others else ""
    moved = [each.setup_ns for each in found.again if each.setup_ns]
    yield (
        f"same bytes: {found.same - len(moved)} of {len(found.again)} trials{by}; "
        f"{100 * len(found.again) / found.exact:.3g} % of {found.exact}, drawn with seed {found.seed}"
    )
    if moved:
        times = f"{min(moved):+,} ns" if min(moved) == max(moved) else f"{min(moved):+,} to {max(moved):+,} ns"
        yield (
            f"same packets and lines: {len(moved)} more; only the moment at which their setup ended differs ({times}), "
            "as it does with other system libraries"
        )
    for again in [each for each in found.again if not each.is_same][:_SHOWN]:
        yield Text(_difference(again), "red")


def _same(same: bool) -> str:
    return "the same" if same else "DIFFERS"


def _difference(again: Again) -> str:
    """Return in a sentence which trial differs, with its first difference."""
    trial = again.trial
    if again.unable:
        return f"{trial.id} could not run here: {again.unable}"
    where = ", ".join(f"{name}={level}" for name, level in trial.cell.items())
    label = f"{trial.id} ({trial.arm} {round_name(trial.round)}{f', {where}' if where else ''})"
    if again.packet is None:
        return f"{label} differs: {', '.join(again.differing[:3])}"
    pair = again.packet.pair
    packet = pair.left or pair.right
    if packet is None:
        return f"{label} differs: {again.differing[0]}"
    of = f"packet {packet.direction} {packet.number}, {again.packet.time_ns / 1e6:.6f} ms after the start"
    what = f"differs in {', '.join(pair.columns)}" if pair.columns else "is in one log alone"
    return f"{label} differs in {again.differing[0]} first: {of}, {what}"


def _line(found: Verified) -> dict[str, Any]:
    return {
        "event": "verified",
        "path": str(found.path),
        "study": found.study,
        "bundle": codec.encode(found.about),
        "trials": found.trials,
        "exact": found.exact,
        "seed": found.seed,
        "altered": list(found.altered),
        "deviations": list(found.deviations),
        "tables": dict(found.tables),
        "drawn": len(found.again),
        "same": found.same,
        "same_but_for_setup": {each.trial.id: each.setup_ns for each in found.again if each.setup_ns},
        "could_not_run": {each.trial.id: each.unable for each in found.again if each.unable},
        "differing": [
            {"trial": each.trial.id, "files": list(each.differing), "first_packet": codec.encode(each.packet)}
            for each in found.again
            if each.differing
        ],
    }


def fail_unless_same(found: Verified) -> None:
    """Raise LonglookError if anything is not as it was, or MachineError if that may be this machine's programs."""
    if found.altered:
        raise LonglookError(
            f"{found.path}: {len(found.altered)} files or trials are not as they were sealed", "get it again"
        )
    if not all(found.tables.values()):
        names = [name for name, same in found.tables.items() if not same]
        raise LonglookError(
            f"{found.path}: the analysis of its raw files gives other results ({', '.join(names)})",
            f"compare with Longlook {found.about.longlook if found.about else 'of its manifest'}",
        )
    if (first := found.first_difference) is None:
        if found.unable is not None:
            count = sum(bool(each.unable) for each in found.again)
            raise MachineError(
                f"{count} of {len(found.again)} trials could not run here: {found.unable.unable}",
                "longlook doctor says what this machine lacks; nothing was found that differs",
            )
        return
    differing = sum(bool(each.differing) for each in found.again)
    message = f"{differing} of {len(found.again)} trials differ, the first is {first.trial.id}"
    if found.deviations:
        carries = found.about is not None and found.about.programs
        hint = "--use-programs runs those of the bundle" if carries else "install what the run had, and verify again"
        raise MachineError(f"{message}; but this machine is not as the run's: {found.deviations[0]}", hint)
    raise LonglookError(message, "--keep DIR keeps them: longlook diff-runs compares two folders of a trial")
