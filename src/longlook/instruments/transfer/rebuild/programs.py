"""The programs that stand for the programs of a recording. Pure."""

import re
from collections.abc import Mapping

from longlook.core import Stack
from longlook.instruments.transfer.rebuild.parts import Fitted
from longlook.instruments.transfer.recording import Recording

DEFAULT = "quic-go"
_ENDS = ("server", "client")


def programs_of(recording: Recording, stacks: Mapping[str, Stack], *, uplink: bool) -> list[Fitted]:
    """Return the programs of both ends, and of TCP the controller, which no capture names."""
    if recording.is_quic:
        return [_nearest(recording, stacks, uplink=uplink)]
    stack = stacks[DEFAULT]
    program = Fitted(
        "program", f"{stack.name}@{stack.default_version}", "it uses the kernel's TCP, as the trace's", _ENDS
    )
    return [program, Fitted("controller", "cubic", "Linux's own: a capture does not name it", ("congestion_control",))]


def _nearest(recording: Recording, stacks: Mapping[str, Stack], *, uplink: bool) -> Fitted:
    producer = recording.producer
    stack = next((each for name, each in stacks.items() if re.match(rf"{re.escape(name)}\b", producer.lower())), None)
    wanted = re.search(r"\d+(?:\.\d+)+", producer)
    if stack is None or not {*_ENDS} <= {*stack.end_roles} or (uplink and not stack.uploads):
        why = "the trace does not name its program" if recording.format == "capture" else f"{producer} is not at hand"
        if stack is not None and uplink:
            why = f"{stack.name} has no uploads"
        version, found = stacks[DEFAULT].default_version, f"{why}: {DEFAULT} stands for it"
        stack = stacks[DEFAULT]
    elif wanted is None:
        version, found = stack.default_version, "the trace's program; the trace names no version"
    else:
        able = [each for each in stack.version_names if "+" not in each and stack.speaks(each, "h3")]
        version = min(able, key=lambda each: _distance(each, wanted.group()))
        same = version == wanted.group()
        found = "the trace's" if same else f"the nearest version here to {wanted.group()}, which the trace names"
    return Fitted("program", f"{stack.name}@{stack.with_knobs(version)[-1]}", found, _ENDS)


def _distance(one: str, other: str) -> tuple[int, ...]:
    """Return how far apart two versions are: by their first number, then by their second, and so on."""
    numbers = [[int(each) for each in re.findall(r"\d+", text)[:4]] for text in (one, other)]
    first, second = ([*each, *[0] * (4 - len(each))] for each in numbers)
    return tuple(abs(a - b) for a, b in zip(first, second, strict=True))
