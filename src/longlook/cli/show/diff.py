"""Differences between trials, for a terminal or a pipe."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from longlook.run import DatedEvent, FileDifference, FirstDifference, Packet, PacketPair, RunDifference, TrialDifference

_NAMES = {
    "direction": "way",
    "arrival_ns": "arrival",
    "due_ns": "due",
    "departure_ns": "departure",
    "size_bytes": "size",
    "payload_bytes": "payload",
    "verdict": "fate",
    "client_port": "port",
    "server_port": "port",
    "transport_sequence": "TCP sequence",
    "sequence": "number",
    "queue_bytes": "queue",
    "queue_packets": "queue",
    "acknowledgement": "TCP acknowledgement",
    "connection_id": "connection id",
    "connection_id_bytes": "connection id",
    "quic_form": "QUIC header",
}
_WIDE = 150
_SHOWN = ("way", "arrival", "departure", "size", "fate", "port", "TCP sequence")
_NUMBERS = ("arrival", "departure", "size", "port", "TCP sequence")


def difference_lines(found: RunDifference, left: Path, right: Path, columns: int) -> Iterator[RenderableType]:
    """Yield one line per differing trial, then everything about the first; `columns` is the width in characters."""
    differing = found.differing
    if found.only_left or found.only_right:
        yield Text(f"not compared: {found.only_left} trials only in {left}, {found.only_right} only in {right}")
    if not differing:
        count = len(found.trials)
        yield Text("identical" if count == 1 else f"identical: {count} trials")
        return
    if len(found.trials) > 1:
        yield Text(f"{len(differing)} of {len(found.trials)} trials differ:")
        yield from (Text(f"  {trial.trial_id}  {trial.label}: {summary(trial)}") for trial in differing)
    yield from _details(differing[0], wide=columns >= _WIDE)


def summary(trial: TrialDifference) -> str:
    """Return `packet 17 (down, 118.3 ms) differs in size`, or the file that differs."""
    if trial.first is None:
        return _file_text(trial.first_file) if trial.first_file else f"{trial.files[0]} differs"
    pair = trial.first.pair
    side = pair.left or pair.right
    what = f"packet {pair.index} ({side.direction if side else '?'}, {_ms(trial.first.time_ns)} ms)"
    if pair.left is None or pair.right is None:
        return f"{what} is only in {'A' if pair.left else 'B'}"
    return f"{what} differs in {', '.join(_columns(pair))}"


def _details(trial: TrialDifference, *, wide: bool) -> Iterator[RenderableType]:
    yield Text(f"{trial.label}\n  A = {trial.left}\n  B = {trial.right}\n  files that differ: {', '.join(trial.files)}")
    if trial.damage is not None:
        yield Text(f"  the packet logs cannot be compared: {trial.damage}", style="red")
    if trial.settings:
        yield Text(f"  the links were set differently: {', '.join(trial.settings)}")
    if trial.started_apart_ns:
        yield Text(f"  B began {_ms(trial.started_apart_ns)} ms after A; times count from each one's own start")
    if trial.first is None:
        if trial.packets:
            yield Text(f"  the packet logs agree in all {trial.packets[0]} packets")
        if trial.first_file is not None:
            yield from _file_details(trial.first_file)
        return
    yield Text(f"the first of {_counts(trial.packets)} packets that differs: {summary(trial)}", style="bold")
    yield _packets(trial.first, wide=wide)
    if trial.behaviour is None:
        yield Text("in direction, times, size and fate all packets agree")
    elif trial.behaviour.index != trial.first.index:
        yield Text(
            f"the first that differs in direction, time, size or fate is packet {trial.behaviour.index}", style="bold"
        )
        yield _packets(trial.behaviour, wide=wide)
    moment_ns = (trial.behaviour or trial.first).time_ns
    yield Text(f"what client and server reported around {_ms(moment_ns)} ms", style="bold")
    yield _events(trial.left_events, trial.right_events, moment_ns)


def _counts(packets: Sequence[int]) -> str:
    return str(packets[0]) if len(set(packets)) == 1 else f"{packets[0]} (A) and {packets[1]} (B)"


def _packets(difference: FirstDifference, *, wide: bool) -> Table:
    """Return both logs side by side, or below each other if the terminal is too narrow."""
    table = Table(header_style="bold")
    table.add_column("#", justify="right")
    if not wide:
        table.add_column("of")
    for side in ("A ", "B ") if wide else ("",):
        for name in _SHOWN:
            text = f"{side}{name}" if name == _SHOWN[0] else name
            table.add_column(text, justify="right" if name in _NUMBERS else "left", no_wrap=True)
    table.add_column("")
    for pair in difference.around:
        columns = _columns(pair)
        left, right = _cells(pair.left, columns), _cells(pair.right, columns)
        mark = "≠" if columns or not (pair.left and pair.right) else ""
        style = "bold" if pair.index == difference.index else ""
        if wide:
            table.add_row(str(pair.index), *left, *right, mark, style=style)
        else:
            table.add_row(str(pair.index), "A", *left, mark, style=style)
            table.add_row("", "B", *right, "", style=style)
    return table


def _cells(packet: Packet | None, differing: Sequence[str]) -> list[Text]:
    if packet is None:
        return [Text("–", style="red")] + [Text("")] * (len(_SHOWN) - 1)
    values = (
        packet.direction,
        _ms(packet.arrival_ns),
        "–" if packet.departure_ns is None else _ms(packet.departure_ns),
        str(packet.size_bytes),
        packet.fate,
        f"{packet.client_port}/{packet.server_port}",
        str(packet.transport_sequence),
    )
    return [Text(value, style="red" if name in differing else "") for name, value in zip(_SHOWN, values, strict=True)]


def _columns(pair: PacketPair) -> list[str]:
    return list(dict.fromkeys(_NAMES.get(name, name) for name in pair.columns))


def _events(left: Sequence[DatedEvent], right: Sequence[DatedEvent], moment_ns: int) -> Table:
    """Return both sides' events, those before the moment aligned at its line, those after it below."""
    table = Table(header_style="bold")
    for side in ("A", "B"):
        table.add_column(f"{side} ms", justify="right")
        table.add_column("who")
        table.add_column("event", overflow="fold")
    before = [[event for event in side if event.time_ns <= moment_ns] for side in (left, right)]
    after = [[event for event in side if event.time_ns > moment_ns] for side in (left, right)]
    height = max(map(len, before))
    for number in range(height):
        table.add_row(*(cell for side in before for cell in _event_cells(side, number - height + len(side))))
    table.add_section()
    for number in range(max(map(len, after))):
        table.add_row(*(cell for side in after for cell in _event_cells(side, number)))
    return table


def _event_cells(side: Sequence[DatedEvent], number: int) -> tuple[Text, Text, Text]:
    if not 0 <= number < len(side):
        return Text(""), Text(""), Text("")
    event = side[number]
    return Text(_ms(event.time_ns)), Text(event.vantage), Text(event.text)


def _file_text(file: FileDifference) -> str:
    if file.only_in is not None:
        return f"{file.name} is only in {file.only_in}"
    return f"{file.name} differs at {f'line {file.line}' if file.line is not None else f'byte {file.byte}'}"


def _file_details(file: FileDifference) -> Iterator[Text]:
    yield Text(_file_text(file), style="bold")
    if file.line is not None:
        yield Text(f"  A: {'(no such line)' if file.left is None else file.left}")
        yield Text(f"  B: {'(no such line)' if file.right is None else file.right}")


def _ms(time_ns: int) -> str:
    """Return milliseconds to the nanosecond."""
    sign, size_ns = ("-" if time_ns < 0 else ""), abs(time_ns)
    return f"{sign}{size_ns // 1_000_000}.{size_ns % 1_000_000:06d}"
