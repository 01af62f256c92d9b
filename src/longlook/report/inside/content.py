"""The inputs of the pages about the inside of cells."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from longlook.core import Run
from longlook.explain import Inside, Round, StateTimes
from longlook.report.charts import colours
from longlook.report.content import ReportContent
from longlook.timeline import CollectorCost


@dataclass(frozen=True)
class DrawnMachine:
    """A state machine that was inferred from an arm's rounds, or the difference of two; `svg` is its drawing."""

    title: str
    svg: str


@dataclass(frozen=True)
class InsideContent:
    """One cell. `arms` are the arms whose trial of the round went well; `absent` gives the reason for the others.

    If several flows of an arm compete, `arms` holds its flows instead, with their colours in `flows`. Flows in `behind`
    are not drawn until the reader selects them, as one arm's flows fill the panels.
    """

    content: ReportContent
    cell_id: str
    cell: Mapping[str, str]
    round: Round
    arms: Mapping[str, Inside]
    runs: Mapping[str, Run]  # of the same arms
    absent: Sequence[tuple[str, str]] = ()
    remarks: Sequence[tuple[str, str]] = ()  # arm, what else is not here and why
    states: StateTimes | None = None
    machines: Sequence[DrawnMachine] = ()
    costs: Sequence[CollectorCost] = ()
    flows: Mapping[str, str] = field(default_factory=dict)
    behind: frozenset[str] = frozenset()

    @property
    def colours(self) -> dict[str, str]:
        """A colour for each arm or flow."""
        names = [arm.name for arm in self.content.study.arms]
        contrast = self.round.contrast or next(iter(self.content.study.contrasts), None)
        pair = (None, None) if contrast is None else (contrast.baseline, contrast.contender)
        return {**colours.arm_colours(list(dict.fromkeys([*names, *self.arms])), *pair), **self.flows}

    @property
    def shown(self) -> dict[str, Inside]:
        """The arms that are drawn at first, and in the still figure."""
        return {arm: inside for arm, inside in self.arms.items() if arm not in self.behind}
