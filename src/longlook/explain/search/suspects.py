"""The result of a search: a finding, the cause that says it, and the changes that confirm or refute it. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from longlook.explain.answer import FoundBy
from longlook.explain.cause import Cause, Finding, Intervention, Says
from longlook.explain.pair import Pair


@dataclass(frozen=True)
class Suspect:
    """A finding of a search, as detectors' findings are, and confirmed or refuted as they are."""

    found_by: FoundBy
    finding: Finding
    cause: Cause
    interventions: Sequence[Intervention]


def searched_cause(name: str, title: str, sentence: str, source: str, role: str, says: Says) -> Cause:
    """Return the cause that a search stands for. It has no detector of its own: nothing is looked for in traces."""
    return Cause(name, title, sentence, source, role, (), (), _nothing_seen, lambda _finding, _pair: (), says=says)


def _nothing_seen(_pair: Pair) -> None:
    return None
