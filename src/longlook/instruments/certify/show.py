"""A certificate on a terminal, and as one line of JSON."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from longlook.core import codec
from longlook.explain import Share
from longlook.instruments.certify.certificate import CERTIFICATE, Certificate
from longlook.instruments.certify.exactness import Repeated
from longlook.instruments.certify.figures import level_text, share_text
from longlook.instruments.certify.fixed_rounds import Power, smallest_found
from longlook.instruments.certify.planted import PlantedMatrix
from longlook.instruments.certify.rates import Rate, RateFinding
from longlook.report import share_text as gap_share_text
from longlook.terminal import Renderings

_STYLES = {
    RateFinding.HELD: "green",
    RateFinding.COMPATIBLE: "green",
    RateFinding.MISSED: "red",
    RateFinding.KNOWN: "yellow",
    RateFinding.TOO_WIDE: "yellow",
    RateFinding.MEASURED: "",
}


def certificate_shown(certificate: Certificate, out: Path, figures: Sequence[Path]) -> Renderings:
    """Return every rate with its level, the power, and the repeats; or a JSON line for each rate and the certificate.

    `out` is the folder of the certificate, `figures` are its figures.
    """
    return Renderings(
        people=lambda: _people(certificate, out, figures),
        lines=lambda: [
            *(
                {"event": "rate", "finding": rate.finding.value, "rate": codec.encode(rate)}
                for rate in certificate.rates
            ),
            {"event": "certificate", "out": str(out), "certificate": codec.encode(certificate)},
        ],
    )


def _people(certificate: Certificate, out: Path, figures: Sequence[Path]) -> Iterator[RenderableType]:
    yield _rates(rate for rate in certificate.rates if rate.part != "power")
    power = [item for part in certificate.parts.values() for item in part.power]
    if power:
        yield _power(power)
    repeated = [item for part in certificate.parts.values() for item in part.repeated]
    if repeated:
        yield _repeated(repeated)
    for name, part in certificate.parts.items():
        if part.missing is not None:
            yield Text(f"{name}: not measured: {part.missing}")
    yield from map(str, (out / CERTIFICATE, *(figure for figure in figures if figure.suffix == ".svg")))
    yield f"{certificate.scale}, {certificate.minutes:.0f} min"


def _rates(rates: Iterable[Rate]) -> Table:
    table = Table("part", "what", "counted", box=None)
    for name in ("of", "share", "95 % interval", "level"):
        table.add_column(name, justify="right")
    table.add_column("")
    for rate in rates:
        style = _STYLES[rate.finding]
        table.add_row(
            rate.part,
            rate.procedure,
            rate.event,
            f"{rate.events} / {rate.trials}",
            share_text(rate.share),
            f"{share_text(rate.low)} – {share_text(rate.high)}",
            level_text(rate.nominal, rate.limit),
            Text(str(rate.finding), style),
        )
    return table


def _power(power: list[Power]) -> Table:
    smallest = smallest_found(power)
    table = Table("known difference", "rounds", "smallest found in 80 %", "its true effect", box=None)
    for (source, rounds), item in smallest.items():
        if item is None:
            table.add_row(source, str(rounds), "none that was tried", "")
        else:
            table.add_row(source, str(rounds), f"{item.difference_pct:g} %", f"{item.effect_pct:+.2f} %")
    return table


def _repeated(repeated: list[Repeated]) -> Table:
    table = Table("repeats while", box=None)
    for name in ("identical", "of"):
        table.add_column(name, justify="right")
    table.add_column("")
    for name in dict.fromkeys(item.disturbance for item in repeated):
        items = [item for item in repeated if item.disturbance == name]
        missing = next((item.missing for item in items if item.missing is not None), None)
        differing = [f"{item.first_difference}, kept in {item.divergent}" for item in items if item.divergent]
        identical, repeats = sum(item.identical for item in items), sum(item.repeats for item in items)
        note = Text(f"not made: {missing}") if missing else Text("; ".join(differing), "red")
        table.add_row(name, str(identical), str(repeats), note)
    return table


def matrix_shown(matrix: PlantedMatrix) -> Renderings:
    """Return what was said of each planted case, and the counts; or a JSON line for each case."""
    return Renderings(
        people=lambda: _planted(matrix),
        lines=lambda: ({"event": "case", **codec.encode(case)} for case in matrix.cases),
    )


def _planted(matrix: PlantedMatrix) -> Iterator[RenderableType]:
    table = Table("case", "planted", "confirmed", "share", "where or which end", "not planted")
    for case in matrix.cases:
        share = Share(case.share_pct, case.ci_low_pct, case.ci_high_pct) if case.share_pct is not None else None
        table.add_row(
            case.case,
            ", ".join(case.expected) or "nothing",
            ", ".join(case.confirmed) or f"none ({case.status})",
            "" if share is None else gap_share_text(share),
            ", ".join(case.placed),
            ", ".join(case.wrong),
        )
    yield table
    (decoys, blamed), (places, said) = matrix.decoys, matrix.placed
    yield (
        f"planted causes confirmed: {matrix.recalled} of {matrix.planted}; confirmed causes that were not planted: "
        f"{matrix.wrong} of {matrix.confirmed}; true places said: {said} of {places}; "
        f"cases without a cause at an end in which one was blamed: {blamed} of {decoys}"
    )
