"""For how many connections the flows of a study act, and what part of a link that would give them."""

from collections.abc import Mapping

from longlook.core.model import Study
from longlook.core.problems import SettingError
from longlook.study.catalogue import Catalogue, installed
from longlook.study.cells import cell_id, cells, labels_of
from longlook.study.flow_groups import FlowGroup, groups_of
from longlook.study.resolve import cell_settings

_CUBIC = "cubic"
_CUBIC_AFTER_LOSS = 0.7
"""The share of its window that Cubic keeps after a loss (RFC 9438, 4.6)."""


def emulated_parts(study: Study, catalogue: Catalogue | None = None) -> dict[tuple[str, str], float]:
    """Return, by cell id and arm, the part in % that the arm's first group of flows would have of the competing flows
    if each connection for which a flow acts were a flow: for one that acts for N, against M others, N/(M+N).

    Only arms for which that is another part than that of their flows are there. A stack declares its number by the knob
    `emulated_connections`, or by the share of its window that its Cubic keeps after a loss, (N−1+0.7)/N for N
    connections. Arms that cannot be resolved here, such as those of another installation's plug-ins, are left out.

    Source: Kakhki et al., IMC 2017, 5.1, which prints N/(M+1) and 2/(M+1): shares that do not add up to 1.
    """
    known = catalogue or installed()
    found: dict[tuple[str, str], float] = {}
    for cell in cells(study):
        settings = cell_settings(study, cell)
        for arm in study.arms:
            try:
                groups = [group for group in groups_of(arm, settings, known) if group.count and not group.cross]
            except SettingError:
                continue
            counts = [group.count for group in groups]
            acting = [group.count * connections_of(group, known) for group in groups]
            if acting[0] * sum(counts) != counts[0] * sum(acting):
                found[cell_id(labels_of(cell)), arm.name] = 100 * acting[0] / sum(acting)
    return found


def connections_of(group: FlowGroup, catalogue: Catalogue) -> int:
    """Return for how many connections the sender of a group acts: 1 unless it is QUIC with a Cubic that says more."""
    server = group.setup.server
    knobs: Mapping[str, object] = server.knobs
    if group.setup.congestion_control is not None or knobs.get("congestion_control") != _CUBIC:
        return 1
    if (count := knobs.get("emulated_connections")) is not None:
        return int(str(count))
    declared = catalogue.stacks[server.stack].knobs["congestion_control"].window_after_loss.get(_CUBIC)
    return 1 if declared is None else round((1 - _CUBIC_AFTER_LOSS) / (1 - declared))
