"""Hues of groups and shades of flows."""

from longlook.report.flows.colours import flow_colours, group_colours


def test_the_subject_has_a_hue_of_its_own_and_cross_traffic_is_grey() -> None:
    colours = group_colours(["cross", "quic", "tcp"], ["cross"])
    assert colours["quic"] == group_colours(["quic"], [])["quic"]
    assert len(set(colours.values())) == 3
    shades = flow_colours({"quic": ["quic"], "tcp": ["a", "b", "c"]}, [])
    assert len(set(shades.values())) == 4
