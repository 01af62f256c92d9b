"""The page about the inside of one cell: figure, states, machines and costs, in one file that opens from disk."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from longlook.explain import Stall
from longlook.report import wording
from longlook.report.charts import colours
from longlook.report.inside.content import InsideContent
from longlook.report.inside.data import Packed, pack
from longlook.report.inside.panels import PANELS, TRACKS, Panel
from longlook.report.inside.states import difference_rows, time_rows
from longlook.report.layout import SEPARATOR
from longlook.report.provenance.traces import cost_rows
from longlook.report.templates import asset, embedded_json, template

SHORTEST_BIN_PACKETS = 10
"""Throughput is never averaged over a time in which fewer packets than this pass at the load's mean rate."""

PACKET_BYTES = 1500


def render_inside(inside: InsideContent) -> str:
    """Return the page as one HTML text that refers to nothing but the report that it belongs to."""
    packed = pack(inside.arms)
    panels = [panel for panel in PANELS if any(_lines(inside, panel))]
    data = _data(inside, packed, panels)
    states = () if inside.states is None else inside.states.times
    return template("inside/page.html.j2").render(
        inside=inside,
        content=inside.content,
        study=inside.content.study,
        cell_label=full_label(inside.cell),
        colours=inside.colours,
        panels=[(panel, [line for line in panel.lines if line.series in _lines(inside, panel)]) for panel in panels],
        tracks=[track for track in TRACKS if _has_track(inside, track[0])],
        views_seen=_seen(inside, "viewer", colours.VIEWER_COLOURS),
        view_colours=colours.VIEWER_COLOURS,
        classes_seen=_seen(inside, "ledger", colours.LEDGER_COLOURS),
        class_colours=colours.LEDGER_COLOURS,
        states_seen=_states_seen(inside),
        state_colours=colours.STATE_COLOURS,
        chosen=chosen_round(inside),
        unseen=unseen(inside, packed),
        stall_rows=stall_rows(inside),
        time_rows=time_rows(inside),
        difference_rows=difference_rows(inside),
        has_states=bool(states),
        stacks=_stacks(inside),
        costs=cost_rows(inside.content, inside.costs),
        wording=wording,
        css=asset("assets/report.css") + asset("inside/inside.css"),
        js=Markup().join(asset(f"inside/{name}.js") for name in ("insidedata", "insideplot", "inside")),
        data=embedded_json(data),
    )


def full_label(cell: Mapping[str, str]) -> str:
    """Return the levels of a cell with their factors: `loss 1% · size 10MB`."""
    return SEPARATOR.join(f"{factor} {level}" for factor, level in cell.items()) or "The one cell"


def chosen_round(inside: InsideContent) -> str:
    """Return which round is shown, and why, in one sentence."""
    return wording.chosen_round(inside.content, inside.round)


def unseen(inside: InsideContent, packed: Packed) -> list[tuple[str, str]]:
    """Return what is not shown, with the reason: arms, traces, and detail beyond the page's size."""
    found = [(inside.content.short_label(arm), f"not shown: {reason}") for arm, reason in inside.absent]
    found += [(inside.content.short_label(arm), text) for arm, text in inside.remarks]
    for arm, trial in inside.arms.items():
        label = inside.content.short_label(arm)
        found += [(label, f"no {what}: {why}") for what, why in trial.missing]
        found += [(label, note) for note in trial.notes]
        cut = {name: packed.arms[arm]["series"][name] for name in packed.cut[arm]}
        if cut:
            widest = max(item["bucket"] for item in cut.values())
            values = sum(item["of"] for item in cut.values())
            kept = sum(item["n"] for item in cut.values())
            found.append(
                (
                    label,
                    f"{kept:,} of {values:,} values of {len(cut)} series are on this page: of every "
                    f"{wording.quantity(widest, 's')} at most, the first, least, greatest and last. Nothing narrower "
                    "can be seen here; the trial's own files hold all.",
                )
            )
        wide = {row: packed.arms[arm]["bands"][row]["bucket"] for row in trial.bands}
        found += [
            (label, f"the row “{short}” has shares of each {wording.quantity(wide[row], 's')}, not every stretch.")
            for row, short, _ in TRACKS
            if wide.get(row)
        ]
    return found


def _data(inside: InsideContent, packed: Packed, panels: Sequence[Panel]) -> dict[str, Any]:
    """Return the data that the page's script draws."""
    arms = [
        {"name": arm, "label": inside.content.short_label(arm), "colour": inside.colours[arm], **packed.arms[arm]}
        for arm in inside.arms
    ]
    return {
        "arms": arms,
        "blob": packed.blob,
        "end": max((trial.duration_s for trial in inside.arms.values()), default=1.0) * 1.01,
        "shortest_bin": _shortest_bin_s(inside),
        "panels": [
            {
                "name": panel.name,
                "title": panel.title,
                "unit": panel.unit,
                "height": panel.height,
                "lines": [{"series": line.series, "style": line.style} for line in panel.lines],
            }
            for panel in panels
        ],
        "tracks": [[name, label] for name, label, _ in TRACKS],
        "band_colours": {
            "viewer": colours.VIEWER_COLOURS,
            "ledger": colours.LEDGER_COLOURS,
            "state": colours.STATE_COLOURS,
        },
    }


def _shortest_bin_s(inside: InsideContent) -> float:
    rates = [
        float(trial.series["passed"].value[-1]) / trial.duration_s
        for trial in inside.arms.values()
        if "passed" in trial.series and trial.duration_s > 0
    ]
    return SHORTEST_BIN_PACKETS * PACKET_BYTES / max(rates) if rates and max(rates) > 0 else 0.01


def _lines(inside: InsideContent, panel: Panel) -> set[str]:
    """Return the series of a panel that at least one arm has."""
    wanted = {line.series for line in panel.lines}
    return {name for trial in inside.arms.values() for name in trial.series if name in wanted}


def _has_track(inside: InsideContent, name: str) -> bool:
    return any(name in trial.bands or name in trial.marks for trial in inside.arms.values())


def _seen(inside: InsideContent, track: str, order: Iterable[str]) -> list[str]:
    """Return the names in the bands of a track, in a given order."""
    seen = {name for trial in inside.arms.values() if track in trial.bands for name in trial.bands[track].name}
    return [name for name in order if name in seen]


def _states_seen(inside: InsideContent) -> list[str]:
    bands = [trial.bands["state"].name for trial in inside.arms.values() if "state" in trial.bands]
    rows = () if inside.states is None else inside.states.times
    seen = {name for names in bands for name in names} | {row.state for row in rows}
    return [name for name in colours.STATE_COLOURS if name in seen]


def _stacks(inside: InsideContent) -> list[tuple[str, list[tuple[str, float]]]]:
    """Return the mean shares of time by arm, for a bar of each."""
    if inside.states is None:
        return []
    shares: dict[str, list[tuple[str, float]]] = {}
    for row in inside.states.times:
        shares.setdefault(row.arm, []).append((row.state, row.share_pct))
    return list(shares.items())


MOST_CLASSES = 4
LEAST_SHARE = 0.02
"""A row lists an activity if it took more than this share of a segment's time."""


@dataclass(frozen=True)
class StallRow:
    """One stall, as text."""

    arm: str
    begins: str
    lasts: str
    segment: str
    took: str
    spent: str


def stall_rows(inside: InsideContent) -> list[StallRow]:
    """Return a row for each stall, arm by arm in order of time."""
    return [_row(arm, stall) for arm, trial in inside.arms.items() for stall in trial.stalls]


def _row(arm: str, stall: Stall) -> StallRow:
    begins, lasts = (wording.quantity(ns / 1e9, "s") for ns in (stall.start_ns, stall.end_ns - stall.start_ns))
    if stall.late is None or stall.position_ns is None:
        return StallRow(arm, begins, lasts, "none came before the end", "–", "–")
    asked_ns, came_ns = stall.position_ns
    segment = f"{stall.late.number}, {stall.late.rung}, {stall.late.size_bytes / 1000:.0f} KB"
    took = f"{wording.quantity((came_ns - asked_ns) / 1e9, 's')}, asked for at {wording.quantity(asked_ns / 1e9, 's')}"
    total = sum(stall.spent_ns.values())
    parts = [
        f"{100 * ns / total:.0f} % {name.replace('_', ' ')}"
        for name, ns in list(stall.spent_ns.items())[:MOST_CLASSES]
        if ns > LEAST_SHARE * total
    ]
    return StallRow(arm, begins, lasts, segment, took, ", ".join(parts) or "–")
