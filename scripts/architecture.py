"""Draw the packages of src/longlook and their imports as SVG: `make architecture` writes
docs/pictures/architecture.svg.

Packages, lines and arrows are read from the source, so the drawing shows what is, not what was meant. The same source
gives the same bytes. `--check` writes nothing and fails where the committed drawing is no longer what the source gives.
"""

import argparse
import ast
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import graphlay

from longlook.report import INK, INK_SOFT, RULE
from longlook.report.charts.colours import PAPER
from longlook.report.charts.theme import EXPORT_FONT
from longlook.report.machines.lettering import text_width, wrapped

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "longlook"
DRAWING = ROOT / "docs" / "pictures" / "architecture.svg"

NAME_PX, TEXT_PX, LINE_PX, PAD_PX, BAR_PX = 15.0, 11.5, 15.0, 11.0, 5.0
WIDEST_BAR_PX = 210.0
WORDS_PX = 172.0
MARGIN_PX = 22.0
THINNEST_PX, THICKEST_PX = 1.2, 5.0
# A reader without Liberation Sans or Arial sees a wider letter, DejaVu Sans in the worst case, by about this factor.
WIDER_FONT = 1.18
BAR, FILL, BORDER, ARROW = "#4c86b8", "#f3f7fb", "#8fa9c0", "#7b766f"

LAYOUT: dict[str, Any] = {
    "direction": "topbottom",
    "spacing": {"layer_gap": 34.0, "node_gap": 30.0, "dummy_gap": 22.0, "port_gap": 26.0},
    "routing": {"style": "orthogonal"},
    "coords": {"branch_bands": False, "branch_style": "symmetric"},
}


class CircleError(Exception):
    """Packages that import each other in a circle, which has no layers."""


@dataclass(frozen=True)
class Package:
    """A package with its size; `imports` counts for each other package the files that import it."""

    name: str
    lines: int
    files: int
    imports: Mapping[str, int]


@dataclass(frozen=True)
class Box:
    """A package as it is drawn: its words, and how wide and high they are together with its bar."""

    package: Package
    also: Sequence[str]
    bar_px: float

    @property
    def size(self) -> str:
        """Lines and files in words; lines in hundreds, so that not every change is another drawing."""
        return f"about {_counted(_hundreds(self.package), 'line')} · {_counted(self.package.files, 'file')}"

    @property
    def width_px(self) -> float:
        """The widest of name, words and bar, with room around it."""
        lines = [text_width(line, TEXT_PX) for line in (self.size, *self.also)]
        words_px = WIDER_FONT * max(text_width(self.package.name, NAME_PX, bold=True), *lines)
        return max(self.bar_px, words_px) + 2 * PAD_PX

    @property
    def height_px(self) -> float:
        """Name, size, bar and further imports, one below the other."""
        return 2 * PAD_PX + NAME_PX + LINE_PX + BAR_PX + 3 + LINE_PX * len(self.also)


def read_packages(source: Path) -> dict[str, Package]:
    """Read the packages directly below `source`, by name; imports inside functions count as any other."""
    folders = sorted(folder for folder in source.iterdir() if (folder / "__init__.py").is_file())
    names = {folder.name for folder in folders}
    packages = {}
    for folder in folders:
        texts = [file.read_text() for file in sorted(folder.rglob("*.py"))]
        imports: Counter[str] = Counter()
        for text in texts:
            imports.update((set(_imported(text, source.name)) & names) - {folder.name})
        lines = sum(len(text.splitlines()) for text in texts)
        packages[folder.name] = Package(folder.name, lines, len(texts), dict(sorted(imports.items())))
    return packages


def _imported(text: str, root: str) -> Iterator[str]:
    """Yield the name that follows `root.` in each import of a file."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module is not None:
            modules = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        else:
            continue
        yield from (parts[1] for parts in (module.split(".") for module in modules) if parts[0] == root and parts[1:])


def all_below(packages: Mapping[str, Package]) -> dict[str, frozenset[str]]:
    """Return for each package every package that it imports, directly or through others.

    Raises CircleError with the packages of a circle if there is one.
    """
    below: dict[str, frozenset[str]] = {}

    def visit(name: str, path: tuple[str, ...]) -> frozenset[str]:
        if name in path:
            raise CircleError(" → ".join((*path[path.index(name) :], name)))
        if name not in below:
            direct = packages[name].imports
            below[name] = frozenset(direct).union(*(visit(other, (*path, name)) for other in direct))
        return below[name]

    for name in packages:
        visit(name, ())
    return below


def drawn_arrows(packages: Mapping[str, Package]) -> dict[str, tuple[str, ...]]:
    """Return for each package the imports that are drawn: packages that no other import of it reaches."""
    below = all_below(packages)
    return {
        name: tuple(one for one in package.imports if not any(one in below[other] for other in package.imports))
        for name, package in packages.items()
    }


def draw(packages: Mapping[str, Package]) -> str:
    """Return the drawing as SVG; packages stand above everything that they import."""
    arrows = drawn_arrows(packages)
    most = max(_hundreds(package) for package in packages.values())
    everywhere = {
        one for one in packages if all(one in other.imports for other in packages.values() if other.name != one)
    }
    boxes = {name: _box(package, {*arrows[name], *everywhere}, most) for name, package in packages.items()}
    graph = graphlay.Graph()
    for name, box in boxes.items():
        graph.node(name, width=box.width_px, height=box.height_px)
    pairs = [(name, other) for name in packages for other in arrows[name]]
    busiest = max((packages[name].imports[other] for name, other in pairs), default=1)
    for name, other in pairs:
        graph.edge(name, other, thickness=_thickness(packages[name].imports[other], busiest))
    placed = graphlay.layout(graph, options=LAYOUT)
    key = (
        *(f"Every other package imports {name}." for name in sorted(everywhere)),
        "Arrows point from a package to what it imports; the more of its files do, the thicker.",
        "An import that other arrows already imply is listed after “also”. The bars are lines of code.",
    )
    shift_x, shift_y, width, height = _frame(placed, list(boxes.values()), key)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{_n(width)}" height="{_n(height)}" '
        f'viewBox="0 0 {_n(width)} {_n(height)}" font-family="{escape(EXPORT_FONT)}" font-size="{_n(TEXT_PX)}">',
        "<title>Packages of longlook and their imports</title>",
        f'<rect width="{_n(width)}" height="{_n(height)}" rx="6" fill="{PAPER}" stroke="{RULE}"/>',
        f'<g transform="translate({_n(shift_x)} {_n(shift_y)})">',
    ]
    for (name, other), edge in zip(pairs, placed.edges, strict=True):
        files = packages[name].imports[other]
        route = [(point["x"], point["y"]) for point in edge["points"]]
        parts.append(_arrow(route, _thickness(files, busiest), f"{name} → {other}: {files} of its files"))
    for box, node in zip(boxes.values(), placed.nodes, strict=True):
        parts += _drawn_box(box, node["center"]["x"], node["center"]["y"])
    parts.append("</g>")
    for number, line in enumerate(key):
        y = height - MARGIN_PX - LINE_PX * (len(key) - 1 - number)
        parts.append(f'<text x="{_n(MARGIN_PX)}" y="{_n(y)}" fill="{INK_SOFT}">{escape(line)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _box(package: Package, known: Collection[str], most_lines: int) -> Box:
    others = [name for name in package.imports if name not in known]
    also = wrapped(f"also {', '.join(others)}", TEXT_PX, WORDS_PX) if others else []
    return Box(package, also, WIDEST_BAR_PX * _hundreds(package) / most_lines)


def _hundreds(package: Package) -> int:
    return max(100, round(package.lines, -2))


def _thickness(files: int, busiest: int) -> float:
    return THINNEST_PX + (THICKEST_PX - THINNEST_PX) * files / busiest


def _frame(placed: graphlay.Layout, drawn: Sequence[Box], key: Sequence[str]) -> tuple[float, float, float, float]:
    """Return the shift that brings everything into the frame, and the frame's width and height."""
    points = [(point["x"], point["y"]) for edge in placed.edges for point in edge["points"]]
    for box, node in zip(drawn, placed.nodes, strict=True):
        x, y = node["center"]["x"], node["center"]["y"]
        points += [(x + side * box.width_px / 2, y + side * box.height_px / 2) for side in (-1, 1)]
    left, right = min(x for x, _ in points), max(x for x, _ in points)
    top, bottom = min(y for _, y in points), max(y for _, y in points)
    width = max(right - left, *(WIDER_FONT * text_width(line, TEXT_PX) for line in key)) + 2 * MARGIN_PX
    height = bottom - top + 2 * MARGIN_PX + LINE_PX * len(key) + 14
    return (width - right - left) / 2, MARGIN_PX - top, width, height


def _drawn_box(box: Box, x: float, y: float) -> Iterator[str]:
    left, top = x - box.width_px / 2, y - box.height_px / 2
    yield (
        f'<rect x="{_n(left)}" y="{_n(top)}" width="{_n(box.width_px)}" height="{_n(box.height_px)}" rx="7" '
        f'fill="{FILL}" stroke="{BORDER}"/>'
    )
    at = top + PAD_PX + NAME_PX - 3
    yield f'<text x="{_n(left + PAD_PX)}" y="{_n(at)}" fill="{INK}" font-size="{_n(NAME_PX)}" font-weight="700">' + (
        f"{escape(box.package.name)}</text>"
    )
    at += 6
    yield f'<rect x="{_n(left + PAD_PX)}" y="{_n(at)}" width="{_n(box.bar_px)}" height="{_n(BAR_PX)}" fill="{BAR}"/>'
    at += BAR_PX
    for line in (box.size, *box.also):
        at += LINE_PX
        yield f'<text x="{_n(left + PAD_PX)}" y="{_n(at)}" fill="{INK_SOFT}">{escape(line)}</text>'


def _arrow(route: Sequence[tuple[float, float]], thickness: float, tip: str) -> str:
    """Return a line with a head; its last piece points down, into the top of a box."""
    x, y = route[-1]
    head = 6.0 + 1.2 * thickness
    line = "L".join(f"{_n(a)} {_n(b)}" for a, b in [*route[:-1], (x, y - head * 0.8)])
    return (
        f'<g><title>{escape(tip)}</title><path d="M{line}" fill="none" stroke="{ARROW}" '
        f'stroke-width="{_n(thickness)}" stroke-linejoin="round"/><path d="M{_n(x)} {_n(y)}L{_n(x - head * 0.45)} '
        f'{_n(y - head)}L{_n(x + head * 0.45)} {_n(y - head)}Z" fill="{ARROW}"/></g>'
    )


def _counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _n(value: float) -> str:
    """Write a number with at most one decimal, in one way."""
    return f"{round(value, 1) + 0.0:.1f}".removesuffix(".0")  # + 0.0: no minus zero


def main(arguments: Sequence[str] | None = None) -> None:
    """Write or check the drawing; raise SystemExit with what is wrong and what to do about it."""
    parser = argparse.ArgumentParser(description="Draw the packages of src/longlook and their imports.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail where the drawing is out of date")
    parser.add_argument("--source", type=Path, default=SOURCE, help="the package whose packages are drawn")
    parser.add_argument("--out", type=Path, default=DRAWING, help="the drawing")
    options = parser.parse_args(arguments)
    try:
        drawing = draw(read_packages(options.source))
    except CircleError as error:
        sys.exit(f"packages import each other in a circle: {error}; move what they share to an earlier package")
    if not options.check:
        options.out.write_text(drawing)
    elif not options.out.is_file() or options.out.read_text() != drawing:
        sys.exit(f"{options.out} is not what the source gives now: run `make architecture`")


if __name__ == "__main__":
    main()
