"""Studies that nobody would draw first: little of everything, and names that look like something else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from longlook.core.model import Outcome, Plan

STACK = "made-up"
VERSIONS = (("1.0", "2024-02-29"), ("2.0+x", "2025-01-01"), ("2.0", "2025-01-01"))

ODD_LABELS = (
    *("1", "0", "-1", "1e3", "nan", "None", "true", "10Mbit", "all", "2026-11-26"),
    *(
        "a,b",
        "a · b",
        "a=b",
        "<b>&amp;",
        'say "no"',
        "100 %",
        "ünïcode",
        "{{ x }}",
        "| --- |",
        "</script>",
        "long " * 15,
    ),
)
ODD_ARMS = ("a", "b", "tcp", "0", "value", "round")
METRICS = ("page_load_time", "time_to_first_byte", "goodput", "handshake_time", "throughput")
NEVER_MEASURED = (
    "packet_loss",
    "declared_lost",
    "quic_share",
    "fallback_time",
    "single_loss_epochs",
    "time_in_slow_start",
)
"""Metrics for which made-up trials have no artefact."""
SETTINGS = (
    ("network.rate", ("10Mbit", "50Mbit", "3Mbit")),
    ("network.rtt", ("36ms", "1ms", "600ms")),
    ("network.loss", ("0%", "1%", "20%")),
    ("workload.object", ("5KB", "100KB", "68B")),
)


@dataclass(frozen=True)
class OddStudy:
    """The document of a study, and how its trials end: an outcome for each arm, or for some rounds alone."""

    document: Mapping[str, Any]
    outcomes: Mapping[str, Outcome]
    rounds_that_end_so: Sequence[int]
    only: tuple[str, ...] = ()

    def outcomes_of(self, plan: Plan) -> dict[str, Outcome]:
        """Return the outcome of each trial that does not end well, by its id."""
        return {
            trial.id: self.outcomes[trial.arm]
            for trial in plan.trials
            if trial.arm in self.outcomes and trial.round in self.rounds_that_end_so
        }


def _labels(count: int) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(ODD_LABELS).map(str.strip), min_size=count, max_size=count, unique=True)


@st.composite
def _factors(draw: st.DrawFn) -> list[dict[str, Any]]:
    chosen = draw(st.lists(st.sampled_from(SETTINGS), min_size=1, max_size=2, unique=True))
    names = draw(
        st.lists(st.sampled_from(("size", "value", "arm", "cell", "x.y", "round")), min_size=2, max_size=2, unique=True)
    )
    factors = []
    for name, (setting, values) in zip(names, chosen, strict=False):
        levels = values[: draw(st.integers(1, 2))]
        labels = draw(_labels(len(levels)))
        factors.append(
            {
                "name": name,
                "levels": [{"label": label, setting: value} for label, value in zip(labels, levels, strict=True)],
            }
        )
    return factors


@st.composite
def _claims(
    draw: st.DrawFn, contrast: str, arm: str, metric: str, factors: Sequence[Mapping[str, Any]], *, of_population: bool
) -> list[dict[str, Any]]:
    """Draw claims about an effect in each cell and about levels of an arm, of which any may be missing."""
    levels = [[level["label"] for level in factor["levels"]] for factor in factors]
    value = draw(st.sampled_from(("+", "-", "ns", 0, 12.5, -99, -400)))
    clipped = () if value == -400 else ({"clipped_at": "99%"},)
    pairs = {row: {column: value for column in levels[-1] if len(factors) > 1 or column == row} for row in levels[0]}
    effect = {
        "id": "effect",
        "source": "nobody",
        "contrast": contrast,
        "rows": factors[0]["name"],
        "columns": factors[-1]["name"],
        "effect_pct": pairs,
        **draw(st.sampled_from(({}, *clipped, {"untestable": "nobody knows"}))),
    }
    others = factors[1:] if of_population else factors
    level = {
        "id": "level",
        "source": "nobody",
        "arm": arm,
        "cell": {factor["name"]: factor["levels"][-1]["label"] for factor in others},
        "metrics": {metric: {"at_least": 0, **({"below": 1} if of_population else {})}},
    }
    return draw(st.lists(st.sampled_from((effect, level)), max_size=2, unique_by=lambda claim: str(claim["id"])))


@st.composite
def odd_studies(draw: st.DrawFn, metrics: Sequence[str] = (*METRICS, *NEVER_MEASURED)) -> OddStudy:
    """Draw a study that can be run, on some of these metrics, and the outcomes of its trials."""
    arms = draw(st.lists(st.sampled_from(ODD_ARMS), min_size=2, max_size=3, unique=True))
    names = draw(_labels(len(arms)))
    metric = draw(st.sampled_from(metrics))
    others = draw(st.lists(st.sampled_from(metrics), max_size=2))
    factors = draw(_factors())
    kind = draw(st.sampled_from(("heatmap", "trend", "matrix", "dots", "population")))
    contrasts = [
        {"name": name, "baseline": arms[0], "contender": arm, "metric": metric, **family}
        for name, arm, family in zip(
            draw(_labels(len(arms) - 1)),
            arms[1:],
            draw(st.sampled_from([[{}] * 2, [{"family": "1"}] * 2])),
            strict=False,
        )
    ]
    rounds = draw(st.sampled_from((1, 2, 3)))
    document: dict[str, Any] = {
        "schema": 1,
        "title": draw(st.sampled_from(ODD_LABELS)).strip(),
        "question": "?",
        "rounds": rounds,
        "around": draw(st.sampled_from(("none", "standard"))),
        "retries_when_invalid": 0,
        "metrics": list(dict.fromkeys((metric, *others))),
        "defaults": {"server": STACK, "client": STACK, "connection": draw(st.sampled_from(("cold", "0rtt")))},
        "arms": {
            arm: {"label": label, "protocol": "h3", "server": f"{STACK}@{version}"}
            for arm, label, (version, _) in zip(arms, names, VERSIONS, strict=False)
        },
        "workload": {"kind": "page", "objects": draw(st.sampled_from((1, 3))), "object": "5KB"},
        "network": {"rate": "50Mbit", "rtt": "36ms"},
        "factors": factors,
        "contrasts": contrasts,
        "analysis": {"min_rounds": draw(st.sampled_from((2, 10)))},
        "figure": {"columns": factors[0]["name"], "rows": [factor["name"] for factor in factors[1:]], "kind": kind},
        "claims": draw(_claims(contrasts[0]["name"], arms[0], metric, factors, of_population=kind == "population")),
    }
    if kind == "population":
        labels = [level["label"] for level in factors[0]["levels"]]
        document["population"] = {
            "factor": factors[0]["name"],
            "shares": dict(zip(labels, ("100%",) if len(labels) == 1 else ("99.9%", "0.1%"), strict=True)),
            "source": "nowhere",
        }
    for factor in factors:
        for level in factor["levels"]:
            for setting in [key for key in level if key != "label"]:
                table, _, name = setting.partition(".")
                document[table].pop(name, None)
    outcome = st.sampled_from([Outcome.FAILED, Outcome.TIMED_OUT, Outcome.UNSUPPORTED, Outcome.INVALID])
    ends = draw(st.dictionaries(st.sampled_from(arms), outcome))
    bad = draw(st.sampled_from((range(rounds), range(1), range(rounds - 1))))
    cut = draw(st.booleans())
    first = factors[0]
    only = (f"{first['name']}={first['levels'][0]['label']}",) if cut else ()
    return OddStudy(document, ends, tuple(bad), only)
