"""The tables of docs/reference/certificate.md, from a certificate. Pure."""

from collections.abc import Callable, Iterator, Mapping
from itertools import groupby

from longlook.instruments.certify.certificate import Certificate
from longlook.instruments.certify.disturbances import DISTURBANCES
from longlook.instruments.certify.figures import level_text, share_text
from longlook.instruments.certify.fixed_rounds import smallest_found
from longlook.instruments.certify.rates import Rate


def rate_rows(certificate: Certificate) -> Iterator[str]:
    """Yield a row for each rate except the rates of power, under `RATES`."""
    for rate in certificate.rates:
        if rate.part != "power":
            yield _row(
                rate.part,
                rate.procedure,
                rate.event,
                *_counted(rate),
                level_text(rate.nominal, rate.limit),
                rate.finding,
            )


def power_rows(certificate: Certificate) -> Iterator[str]:
    """Yield a row for each known difference, with the share found at each number of rounds, under `POWER`."""
    power = [item for part in certificate.parts.values() for item in part.power]
    for _, items in groupby(power, lambda item: (item.source, item.difference_pct)):
        cells = list(items)
        first = cells[0]
        shares = [share_text(item.rate.share) for item in cells]
        effect = f"{first.effect_pct:+.2f} %".replace("-", "−")
        yield _row(SOURCES[first.source], f"{first.difference_pct:g} %", effect, *shares)


def smallest_rows(certificate: Certificate) -> Iterator[str]:
    """Yield a row for each kind of known difference and number of rounds, under `SMALLEST`."""
    power = [item for part in certificate.parts.values() for item in part.power]
    for (source, rounds), item in smallest_found(power).items():
        yield _row(
            SOURCES[source], f"{rounds}", "none that was tried" if item is None else f"{item.difference_pct:g} %"
        )


def repeat_rows(certificate: Certificate) -> Iterator[str]:
    """Yield a row for each disturbance of the host, and one for all, under `REPEATS`."""
    repeated = [item for part in certificate.parts.values() for item in part.repeated]
    summaries = {disturbance.name: disturbance.summary for disturbance in DISTURBANCES}
    for name in dict.fromkeys(item.disturbance for item in repeated):
        items = [item for item in repeated if item.disturbance == name]
        missing = next((item.missing for item in items if item.missing is not None), None)
        identical, repeats = sum(item.identical for item in items), sum(item.repeats for item in items)
        yield _row(summaries.get(name, name), f"not made: {missing}" if missing else f"{identical} of {repeats}")
    if repeated:
        yield _row("all", f"{sum(item.identical for item in repeated)} of {sum(item.repeats for item in repeated)}")


def run_rows(certificate: Certificate) -> Iterator[str]:
    """Yield a row for each run of the bank, under `RUNS`."""
    for run in certificate.runs:
        yield _row(
            run.name, f"`{run.study}`", run.engine, f"{run.cells}", f"{run.trials}", f"{run.good}", f"`{run.plan}`"
        )


def facts_rows(certificate: Certificate) -> Iterator[str]:
    """Yield what was certified, how and when, under `FACTS`."""
    yield _row("scale", certificate.scale)
    yield _row("day", certificate.day)
    yield _row("Longlook, method", f"{certificate.longlook}, `{certificate.method}`")
    yield _row("seed of the resampling", f"{certificate.seed}")
    hosts = [part.host for part in certificate.parts.values() if part.host]
    machines = dict.fromkeys(f"{host['cpus']} CPUs, {host['kernel']}" for host in hosts)
    yield _row("machines" if len(machines) > 1 else "machine", "; ".join(machines))
    for name, part in certificate.parts.items():
        made = f" ({part.day}, method `{part.method}`)" if certificate.is_older(part) else ""
        yield _row(
            f"minutes of {name}", f"not measured: {part.missing}" if part.missing else f"{part.minutes:.1f}{made}"
        )


SOURCES = {
    "delay": "a longer round trip",
    "delay under loss": "a longer round trip, random loss",
    "moved": "loads that take longer",
}
"""Words for the sources of known differences."""

RATES = "part | what | counted | of | share | 95 % interval | level | finding"
POWER = "known difference | by | true effect | 10 rounds | 20 rounds | 40 rounds"
SMALLEST = "known difference | rounds | smallest that is found in 80 %"
REPEATS, FACTS = "while | identical", "fact | value"
RUNS = "run | study | engine | cells | trials | ok | plan"
TABLES: Mapping[str, Callable[[Certificate], Iterator[str]]] = {
    FACTS: facts_rows,
    RATES: rate_rows,
    POWER: power_rows,
    SMALLEST: smallest_rows,
    REPEATS: repeat_rows,
    RUNS: run_rows,
}
"""The cells of each table's header in the document, and its rows."""


def _counted(rate: Rate) -> tuple[str, str, str]:
    counts = f"{rate.events} of {rate.trials}"
    return counts, share_text(rate.share), f"{share_text(rate.low)} to {share_text(rate.high)}"


def _row(*texts: str) -> str:
    return f"| {' | '.join((text or '–').replace('<', '&lt;') for text in texts)} |"
