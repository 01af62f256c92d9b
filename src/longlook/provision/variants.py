"""Variants: stacks made of a shipped one by other sources, another adapter, set knobs, or other arguments.

Guests read the declarations of stacks, so this module loads nothing heavy before a variant is built.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from longlook.core import Command, InputError, Program, Scalar, Stack, Version, adapter_from

_CALLS = ("server_command", "client_command", "session_command", "proxy_command", "relay_command")

_NOTHING = Command(())


def variant(
    base: Stack,
    name: str,
    *,
    of: str = "",
    version: str = "",
    sources: str = "",
    adapter: Path | None = None,
    knobs: Mapping[str, Scalar] | None = None,
    beside: Command = _NOTHING,
) -> Stack:
    """Return a stack of one version with a name of its own, made from version `of` of another, by default the newest.

    It has the protocols, the connection states and the knobs of that version. `sources` are its library, as they stand
    behind `@` with an absolute path (`/home/me/quinn`, `git:/home/me/quinn#main`, `0.11.12+/home/me/fix.patch`).
    `adapter` is a folder that stands in for `adapters/NAME` of the other stack, with the files of version `of`.
    `knobs` are set in every trial that does not set them. `beside` has arguments and variables that every call of the
    program has beside its own. `version` is the version that the program reports. By default it is the other stack's
    version, with `+sources` behind it if there are some.

    Raise InputError for an unknown version, and for a knob that the version does not have, or whose bounds a value
    misses. So is it if the other stack is not built from sources, or has no adapter.
    """
    of = base.version(of or base.default_version).name
    if sources and base.from_sources is None:
        raise InputError(f"stack {name}: {base.name} is not built from sources", "leave `sources` out")
    if adapter is not None and base.session_command is not None:
        raise InputError(f"stack {name}: {base.name} is not built from its adapter", "leave `adapter` out")
    preset = dict(knobs or {})

    def chosen() -> str:
        from longlook.provision.sources.resolve import version_of  # guests neither need nor have it

        return version_of(base, f"{sources},of={of}" if ",of=" not in sources and "+" not in sources else sources)

    def with_adapter(call: Callable[[str], Any]) -> Any:
        with _adapter_of(base.name, adapter):
            return call(chosen() if sources else of)

    def install(_version: str) -> Program:
        program: Program = with_adapter(base.program)
        return program

    def installed(_version: str) -> bool:
        return bool(with_adapter(base.is_installed))

    released = base.version(of).released if not sources and adapter is None else ""
    made = base.derived(
        name,
        Version(version or (f"{of}+sources" if sources else of), released),
        of,
        summary=f"{base.name} {of}, a variant",
        install=install,
        installed=installed,
        from_sources=None,
        preset=preset,
        **_calls(base, beside),
    )
    _check(made)
    known = {knob: replace(made.knobs[knob], default=value, usual=value) for knob, value in preset.items()}
    return replace(made, knobs={**made.knobs, **known})  # in studies the default is not sent, and another value is


@contextmanager
def _adapter_of(name: str, folder: Path | None) -> Iterator[None]:
    if folder is None:
        yield
        return
    with adapter_from(name, folder):
        yield


def _calls(base: Stack, beside: Command) -> dict[str, Any]:
    """Return the calls of a stack's programs that are other ones now."""

    def extended(call: Callable[..., Command]) -> Callable[..., Command]:
        def command(*given: Any) -> Command:
            own = call(*given)
            return Command((*own.argv, *beside.argv), {**own.env, **beside.env})

        return command

    return {name: extended(call) for name in _CALLS if (call := getattr(base, name)) is not None}


def _check(made: Stack) -> None:
    for name, value in made.preset.items():
        if name not in made.knobs:
            raise InputError(f"stack {made.name}: there is no knob {name!r}", f"known: {', '.join(made.knobs)}")
        knob = made.knobs[name]
        low = -math.inf if knob.minimum is None else knob.minimum
        high = math.inf if knob.maximum is None else knob.maximum
        bounded = isinstance(value, str) or low <= value <= high
        if type(value) is not knob.kind or not bounded or (knob.choices and value not in knob.choices):
            allowed = ", ".join(map(str, knob.choices)) or f"from {low} to {high} {knob.unit or ''}".strip()
            allowed = f"{knob.kind.__name__}, {allowed}"
            raise InputError(f"stack {made.name}, knob {name}: {value!r} is not allowed", f"allowed: {allowed}")
