"""The places of boxes and arrows: graphlay's layered layout (Sugiyama), which is deterministic."""

from dataclasses import dataclass
from typing import Any

import graphlay

from longlook.report.machines.picture import Picture

Point = tuple[float, float]

_OPTIONS: dict[str, Any] = {
    "direction": "topbottom",
    "spacing": {"layer_gap": 74.0, "node_gap": 60.0, "dummy_gap": 34.0, "port_gap": 22.0, "edge_label_margin": 14.0},
    "routing": {"style": "orthogonal"},
    "self_loops": {"size": 22.0, "gap": 14.0},
    "labels": {"clearance": 5.0},
}


@dataclass(frozen=True)
class Layout:
    """Centres of the boxes, corners of each arrow from border to border, the centre of its words; all from (0, 0)."""

    width: float
    height: float
    centres: dict[int, Point]
    routes: tuple[tuple[Point, ...], ...]
    anchors: tuple[Point, ...]


def place(picture: Picture) -> Layout:
    """Return the places of everything in a picture; the same picture has the same places."""
    graph = graphlay.Graph()
    for box in picture.boxes:
        width, height = box.size_px
        graph.node(box.id, width=width, height=height, shape="box" if box.role == "state" else "ellipse")
    for arrow in picture.arrows:
        width, height = arrow.label_px
        graph.edge(
            arrow.source, arrow.target, weight=1.0 + 9.0 * arrow.weight, thickness=arrow.width_px,
            label_size={"width": width, "height": height},
        )  # fmt: skip
    placed = graphlay.layout(graph, preset="process_map", options=_OPTIONS)
    centres = {box.id: _point(node["center"]) for box, node in zip(picture.boxes, placed.nodes, strict=True)}
    routes = tuple(tuple(_point(point) for point in edge["points"]) for edge in placed.edges)
    anchors = tuple(_point(edge["label_anchor"]) for edge in placed.edges)
    left, top, right, bottom = _bounds(picture, centres, routes, anchors)
    return Layout(
        right - left,
        bottom - top,
        {box: (x - left, y - top) for box, (x, y) in centres.items()},
        tuple(tuple((x - left, y - top) for x, y in route) for route in routes),
        tuple((x - left, y - top) for x, y in anchors),
    )


def _point(point: dict[str, float]) -> Point:
    return point["x"], point["y"]


def _bounds(
    picture: Picture, centres: dict[int, Point], routes: tuple[tuple[Point, ...], ...], anchors: tuple[Point, ...]
) -> tuple[float, float, float, float]:
    """Return the extent of everything, words and thick lines included: left, top, right, bottom."""
    spans = [(centres[box.id], *box.size_px) for box in picture.boxes]
    spans += [(anchor, *arrow.label_px) for anchor, arrow in zip(anchors, picture.arrows, strict=True)]
    for route, arrow in zip(routes, picture.arrows, strict=True):
        spans += [(point, arrow.width_px + 8, arrow.width_px + 8) for point in route]
    return (
        min(x - width / 2 for (x, _), width, _ in spans),
        min(y - height / 2 for (_, y), _, height in spans),
        max(x + width / 2 for (x, _), width, _ in spans),
        max(y + height / 2 for (_, y), _, height in spans),
    )
