"""Colours of competing flows: a hue for each group, its shades for the flows in it; cross traffic is grey."""

from collections.abc import Mapping, Sequence

from longlook.report.charts.colours import mix

_SUBJECT = ("#8a3a00", "#dd7a1f")
_COMPETITORS = (("#0b4f5c", "#36a0ab"), ("#44307a", "#917bc7"), ("#3f5a10", "#7fa233"))
_CROSS = ("#77736d", "#a9a49b")
"""The darkest and lightest shade of a hue. They differ from the red and blue of arms, which mean something else;
orange and teal differ for the common kinds of colour blindness.
"""


def group_colours(groups: Sequence[str], cross: Sequence[str]) -> dict[str, str]:
    """Return a colour for each group; the first that is not cross traffic is under test and has the subject's hue."""
    return {group: mix(*hue, 0.35) for group, hue in _hues(groups, cross).items()}


def flow_colours(flows: Mapping[str, Sequence[str]], cross: Sequence[str]) -> dict[str, str]:
    """Return a colour for each flow, given the flows of each group."""
    return {
        flow: mix(*hue, 0.35 if len(flows[group]) == 1 else place / (len(flows[group]) - 1))
        for group, hue in _hues(list(flows), cross).items()
        for place, flow in enumerate(flows[group])
    }


def _hues(groups: Sequence[str], cross: Sequence[str]) -> dict[str, tuple[str, str]]:
    competing = [group for group in groups if group not in cross]
    hues = [_SUBJECT, *(_COMPETITORS[place % len(_COMPETITORS)] for place in range(len(competing) - 1))]
    return {**dict(zip(competing, hues, strict=False)), **dict.fromkeys(cross, _CROSS)}
