"""Runs whose losses are integrated, over made-up loads: a function says what each pattern of losses does to an arm."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from longlook.analysis.integrated import integrate
from longlook.analysis.loss_parts import LossEffects, loss_effects
from longlook.analysis.stats import estimate
from longlook.analysis.stats.strata import NONE, ONE, Packet
from longlook.analysis.strata_plan import CellStrata, patterns, plan_strata
from longlook.core import STATED, Estimate, Link, Stage, Study, Trial, registry
from longlook.network import LossLaws, loss_laws
from longlook.report.content import MetricFacts, ReportContent
from longlook.study import with_lost
from tests.data import samples as made
from tests.data.report import MANIFEST
from tests.data.trials import trial

Value = Callable[[str, frozenset[Packet], int], float | None]
"""Arm, lost packets, round (STATED: the stated point) → the value; None: the trial failed."""


@dataclass(frozen=True)
class MadeUpRun:
    """What an analysis of a run gives."""

    study: Study
    samples: pd.DataFrame
    patterns: pd.DataFrame
    cells: Sequence[CellStrata]
    estimates: Sequence[Estimate]
    effects: LossEffects

    @property
    def content(self) -> ReportContent:
        """A report on it."""
        metrics = {name: registry.get("metrics", name) for name in self.study.metrics}
        return ReportContent(
            study=self.study,
            samples=self.samples,
            estimates=list(self.estimates),
            claims=[],
            manifest={**MANIFEST, "study": self.study.id},
            metrics={name: MetricFacts(metric.label, metric.unit, metric.better) for name, metric in metrics.items()},
            losses=self.effects,
        )


def packets(up: int, down: int) -> list[Packet]:
    """Return the packets of a load: first those of the client, then those of the server."""
    return [("up", number) for number in range(up)] + [("down", number) for number in range(down)]


def made_up_run(
    value: Value,
    loads: Mapping[str, Sequence[Packet]],
    *,
    lost: float | Stage = 0.1,
    rounds: int = 12,
    point: bool = True,
    tried: Callable[[Packet], bool] = lambda packet: True,
    metric: str = "page_load_time",
    alike: Mapping[str, str] | None = None,
) -> MadeUpRun:
    """Return the run of one cell, `a`; the loads of the arms tcp and quic lose each packet with the same probability,
    or by the law of a stage. Arms that are `alike` are nearly one program.
    """
    study = made.study(metric=metric)
    stage = lost if isinstance(lost, Stage) else Stage("loss", {"probability": lost})
    link = Link(up=(stage,), down=(stage,))
    laws = loss_laws(link)
    assert isinstance(laws, LossLaws)
    planned = plan_strata("id-a", laws, loads, [], point=point, alike=alike)
    cell = replace(planned, until={name: 2 * len(load) for load in loads.values() for name in ("up", "down")})
    trials: list[Trial] = []
    for arm, load in loads.items():
        stated = trial(id=f"{arm} stated", arm=arm, cell_id="id-a", cell={"rate": "a"}, round=STATED, link=link)
        trials.append(with_lost(stated, NONE, (), ()))
        trials += [with_lost(stated, ONE, *_by_direction([packet])) for packet in load if tried(packet)]
    for number in range(rounds):
        for pattern in patterns(cell, 1, "id-a", number):
            for arm in loads:
                plain = trial(
                    id=f"{arm} {number}", arm=arm, cell_id="id-a", cell={"rate": "a"}, round=number, link=link
                )
                trials.append(with_lost(plain, pattern.stratum, *_by_direction(pattern.lost)))
    rows = [_row(each, value, metric) for each in {each.id: each for each in trials}.values()]
    integrated = integrate(pd.DataFrame(rows), trials, [cell])
    estimates = estimate(integrated.samples, study)
    effects = loss_effects(integrated.patterns, [cell], study)
    return MadeUpRun(study, integrated.samples, integrated.patterns, [cell], estimates, effects)


def _by_direction(lost: Sequence[Packet] | frozenset[Packet]) -> tuple[list[int], list[int]]:
    up, down = ([number for name, number in sorted(lost) if name == direction] for direction in ("up", "down"))
    return up, down


def _row(each: Trial, value: Value, metric: str) -> Mapping[str, object]:
    surgery = {name: {first for stage in stages if stage.kind == "surgery" for first, _ in stage.parameters["drop"]}
               for name, stages in (("up", each.link.up), ("down", each.link.down))}  # fmt: skip
    found = value(each.arm, frozenset((name, number) for name in surgery for number in surgery[name]), each.round)
    row = made.row(each.arm, each.round, found, "ok" if found is not None else "timed_out", metric=metric)
    return {**row, "trial_id": each.id}
