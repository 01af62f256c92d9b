"""The parts of a drawing of a machine, before it has places: boxes, arrows and words."""

from dataclasses import dataclass, field

from longlook.report.machines.lettering import text_width

TITLE_PX = 14.0
TEXT_PX = 11.5
LINE_PX = 15.0
PAD_PX = 12.0
BAR_PX = 5.0
DOT_PX = 22.0

SPARE = 1.2
"""The factor by which DejaVu Sans and Verdana are wider, which browsers use without the drawings' fonts."""


@dataclass(frozen=True)
class Words:
    """A piece of a line: text and colour."""

    text: str
    colour: str
    bold: bool = False

    @property
    def width_px(self) -> float:
        """The width in pixels at the common size of text."""
        return text_width(self.text, TEXT_PX, bold=self.bold)


Line = tuple[Words, ...]
"""Pieces side by side, with a space between them."""


def line_width(line: Line) -> float:
    """Return the pixels that a line takes."""
    return sum(words.width_px for words in line) + text_width(" ", TEXT_PX) * (len(line) - 1)


@dataclass(frozen=True)
class StateBox:
    """A state. `bars` are shares from 0 to 1 with their colours; `role` start and end are drawn as dots."""

    id: int
    role: str
    title: tuple[str, ...] = ()
    lines: tuple[Line, ...] = ()
    bars: tuple[tuple[float, str], ...] = ()
    fill: str = "#ffffff"
    border: str = "#000000"
    border_px: float = 1.2
    dashed: bool = False
    tip: str = ""

    @property
    def size_px(self) -> tuple[float, float]:
        """The width and height that its contents need."""
        if self.role != "state":
            return DOT_PX, DOT_PX
        widths = [text_width(text, TITLE_PX, bold=True) for text in self.title] + [*map(line_width, self.lines)]
        height = len(self.title) * (LINE_PX + 3) + len(self.lines) * LINE_PX + (BAR_PX + 2) * len(self.bars)
        return max(112.0, SPARE * max(widths, default=0.0) + 2 * PAD_PX), height + 2 * PAD_PX - 4


@dataclass(frozen=True)
class Arrow:
    """A transition. `weight` from 0 to 1 is the importance of its being straight and short."""

    source: int
    target: int
    lines: tuple[Line, ...]
    colour: str
    width_px: float
    weight: float
    dashed: bool = False
    tip: str = ""

    @property
    def label_px(self) -> tuple[float, float]:
        """The width and height of its words."""
        return max(map(line_width, self.lines)) + 6, LINE_PX * len(self.lines) + 2


@dataclass(frozen=True)
class Picture:
    """Everything that is drawn: `notes` stand below the title, `key` at the foot."""

    title: str
    notes: tuple[Line, ...]
    boxes: tuple[StateBox, ...]
    arrows: tuple[Arrow, ...]
    key: tuple[Line, ...] = field(default=())
