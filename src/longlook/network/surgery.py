"""Surgery: what is done with single packets of a direction, whatever the link would do with them.

    forgive 12               no stage drops or corrupts the packet
    drop 30-32, 40           it is dropped where random loss is
    hold 40 20ms             it leaves the link so much later, and others overtake it
    forgive 12; drop 30-32   several operations, with semicolons between them

Packets are named by their number in their direction in order of arrival at the link, from 0: `sequence` of
`timeline.parquet`. Every other packet keeps its random draws. docs/reference/link.md has the law of each operation.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from longlook.core import Json, Link, SettingError, Stage, UnitError, nearest, units

KIND = "surgery"
PREFIX = "network.surgery."
"""The prefix of the settings; a direction follows."""

NO_SURGERY = "off"
KINDS_BEFORE = frozenset({"nat", "nat_timeout", "access", "block", "police", "cutoff", "size_filter", "mtu"})
"""Kinds of stages that stand before surgery, which stands where random loss begins."""

_FORGIVE, _DROP, _HOLD = "forgive", "drop", "hold"
_VERBS = [_FORGIVE, _DROP, _HOLD]
_EXAMPLE = "forgive 12; drop 30-32; hold 40 20ms"
_HIGHEST = 2**53
_MOST_RANGES = 10_000
LONGEST_NS = 3_600 * 10**9
"""As long as a packet can be held."""
"""As long a packet may be held."""
_HELD = re.compile(r"(.*[0-9\s])\s+([0-9][0-9.]*\s*[a-zµμ]+)", re.DOTALL)

_Range = tuple[int, int, int]
"""First packet, last packet, and how long they are held in ns (0 for the other operations)."""


@dataclass(frozen=True)
class _Operations:
    """The packets of each operation, in order and apart."""

    forgive: tuple[_Range, ...] = ()
    drop: tuple[_Range, ...] = ()
    hold: tuple[_Range, ...] = ()


def surgery_text(value: object) -> str:
    """Return the canonical text of operations, `off` for none; raise UnitError if they are none or contradict."""
    return _text(_read(value))


def surgery_stage(value: object) -> Stage | None:
    """Return the stage of operations, or None without any; raise UnitError as `surgery_text` does."""
    return _stage(_read(value))


def with_surgery(link: Link, up: str, down: str) -> Link:
    """Return the link with operations on packets of each direction added to its own.

    `up` and `down` are texts as of the settings `network.surgery.up` and `network.surgery.down`; `off` adds nothing.
    All other stages stay as they are, and so do the draws of their seed. Raise SettingError, with the setting's key,
    if a text is wrong or contradicts the operations that are there.
    """
    return Link(up=_operated(link.up, "up", up), down=_operated(link.down, "down", down))


def with_surgery_over(link: Link, up: str, down: str) -> Link:
    """Return the same, with added operations that win over the operations that are there, which are planned losses.

    Planned losses are drops, or delays that never end (`loss_law.loss_texts`). A packet that is forgiven is not lost,
    and a packet that stays lost is not held.
    """
    return Link(
        up=_operated(link.up, "up", up, wins=True),
        down=_operated(link.down, "down", down, wins=True),
    )


def without_surgery(link: Link) -> Link:
    """Return the link without operations on single packets; the link itself if it has none."""
    up, down = (tuple(stage for stage in stages if stage.kind != KIND) for stages in (link.up, link.down))
    return Link(up=up, down=down)


def _operated(stages: tuple[Stage, ...], direction: str, text: str, *, wins: bool = False) -> tuple[Stage, ...]:
    own = next((_of_stage(stage) for stage in stages if stage.kind == KIND), _Operations())
    try:
        added = _read(text)
        if wins:
            own = replace(
                own,
                drop=_without(own.drop, added.forgive),
                hold=_without(_without(own.hold, added.forgive), added.drop),
            )
            added = replace(added, hold=_without(_without(added.hold, own.drop), own.hold))
        stage = _stage(_joined([own, added]))
    except UnitError as error:
        raise SettingError(f"{PREFIX}{direction}", str(error)) from error
    others = [other for other in stages if other.kind != KIND]
    if stage is None:
        return tuple(others)
    place = next((at for at, other in enumerate(others) if other.kind not in KINDS_BEFORE), len(others))
    return (*others[:place], stage, *others[place:])


def _read(value: object) -> _Operations:
    if value == NO_SURGERY:
        return _Operations()
    if not isinstance(value, str) or not value.strip():
        raise UnitError(f'write operations on packets, for example "{_EXAMPLE}", or "{NO_SURGERY}"')
    return _joined(_operation(part.strip()) for part in value.strip().removesuffix(";").split(";"))


def _operation(text: str) -> _Operations:
    verb, _, rest = text.partition(" ")
    if verb not in _VERBS:
        raise UnitError(
            f"{verb!r} is no operation on packets; allowed: {', '.join(_VERBS)}{nearest(verb, _VERBS)}; "
            f'for example "{_EXAMPLE}"'
        )
    if verb != _HOLD:
        found = _ranges(rest, text, 0)
        return _Operations(forgive=found) if verb == _FORGIVE else _Operations(drop=found)
    held = _HELD.fullmatch(rest)
    if held is None:
        raise UnitError(f'{text!r} does not say which packets are held for how long: write for example "hold 40 20ms"')
    if not 0 < (held_ns := units.parse_time(held[2])) <= LONGEST_NS:
        raise UnitError(f"{text!r}: allowed: above 0s, at most {units.print_time(LONGEST_NS)}")
    return _Operations(hold=_ranges(held[1], text, held_ns))


def _ranges(text: str, operation: str, held_ns: int) -> tuple[_Range, ...]:
    found = []
    for part in text.split(","):
        first_text, dash, last_text = (piece.strip() for piece in part.partition("-"))
        first, last = _number(first_text, operation), _number(last_text if dash else first_text, operation)
        if last < first:
            raise UnitError(f"{operation!r}: packets {first}-{last} run backwards: write {last}-{first}")
        found.append((first, last, held_ns))
    return tuple(found)


def _number(text: str, operation: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20) or int(text) > _HIGHEST:
        raise UnitError(
            f"{operation!r}: {text!r} is not a packet's number: write whole numbers from 0 to {_HIGHEST}, "
            'as in "drop 30-32, 40"'
        )
    return int(text)


def _joined(parts: Iterable[_Operations]) -> _Operations:
    """Return all operations together; UnitError if they contradict each other or are too many."""
    listed = list(parts)
    forgive, drop, hold = (_merged(verb, [one for part in listed for one in getattr(part, verb)]) for verb in _VERBS)
    for verb, others in ((_FORGIVE, forgive), (_HOLD, hold)):
        if (number := _shared(drop, others)) is not None:
            raise UnitError(
                f"packet {number} is named by {_DROP} and by {verb}: what is dropped never leaves; take one"
            )
    return _Operations(forgive, drop, hold)


def _merged(verb: str, ranges: Sequence[_Range]) -> tuple[_Range, ...]:
    """Return ranges in order and apart, neighbours as one."""
    merged: list[_Range] = []
    for first, last, held_ns in sorted(ranges):
        if merged and first <= merged[-1][1] and merged[-1][2] != held_ns:
            raise UnitError(f"packet {first} is held for two times: write one {_HOLD} for it")
        if merged and first <= merged[-1][1] + 1 and merged[-1][2] == held_ns:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]), held_ns)
        else:
            merged.append((first, last, held_ns))
    if len(merged) > _MOST_RANGES:
        raise UnitError(f"{verb} has {len(merged)} ranges of packets: allowed: at most {_MOST_RANGES}")
    return tuple(merged)


def _without(ranges: Sequence[_Range], others: Sequence[_Range]) -> tuple[_Range, ...]:
    """Return what some ranges leave of others, which are in order and apart."""
    found: list[_Range] = []
    for first, last, held_ns in ranges:
        edges = [edge for start, end, _ in others if start <= last and first <= end for edge in (start - 1, end + 1)]
        pieces = zip([first, *edges[1::2]], [*edges[::2], last], strict=True)
        found += [(begin, until, held_ns) for begin, until in pieces if begin <= until]
    return tuple(found)


def _shared(one: Sequence[_Range], other: Sequence[_Range]) -> int | None:
    """Return the first packet that both name, or None."""
    at, other_at = 0, 0
    while at < len(one) and other_at < len(other):
        (first, last, _), (other_first, other_last, _) = one[at], other[other_at]
        if max(first, other_first) <= min(last, other_last):
            return max(first, other_first)
        if last < other_last:
            at += 1
        else:
            other_at += 1
    return None


def _text(operations: _Operations) -> str:
    parts = [f"{verb} {_shown(getattr(operations, verb))}" for verb in (_FORGIVE, _DROP) if getattr(operations, verb)]
    for held_ns in dict.fromkeys(held_ns for _, _, held_ns in operations.hold):
        packets = _shown([one for one in operations.hold if one[2] == held_ns])
        parts.append(f"{_HOLD} {packets} {units.print_time(held_ns)}")
    return "; ".join(parts) or NO_SURGERY


def _shown(ranges: Iterable[_Range]) -> str:
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last, _ in ranges)


def _stage(operations: _Operations) -> Stage | None:
    parameters: dict[str, Json] = {
        verb: tuple((first, last) for first, last, _ in getattr(operations, verb))
        for verb in (_FORGIVE, _DROP)
        if getattr(operations, verb)
    }
    if operations.hold:
        parameters[_HOLD] = operations.hold
    return Stage(KIND, parameters) if parameters else None


def _of_stage(stage: Stage) -> _Operations:
    def rows(verb: str) -> tuple[_Range, ...]:
        return tuple((row[0], row[1], row[2] if verb == _HOLD else 0) for row in stage.parameters.get(verb, ()))

    return _Operations(*map(rows, _VERBS))
