"""Loss of packets: the canonical text of what people write, and the stage that it means.

    1%                           each packet on its own; may vary (uniform, walk, steps)
    gilbert_elliott(1%, 25%)     good to bad, bad to good; then the loss in the good state (0%), in the bad one (100%)
    burst(0.1%, 5)               how often a burst begins, how many packets it takes
    index(3, 7)                  packets by their number in their direction, from 0
    trace(FILE)                  of lost packets, or TheaterQ's column LOSS

A special case of another form is written in that form: `burst(1%, 1)` becomes `1%`.
"""

from collections.abc import Callable
from fractions import Fraction

from longlook.core import Stage, UnitError, trace_of, units
from longlook.network import trace_store
from longlook.network.values import LOSS, arguments, call, read

_LONGEST_BURST = 1_000_000
_HIGHEST_INDEX = 2**53


def loss_text(value: object) -> str:
    """Return the canonical text of a loss; raise UnitError if it is none."""
    return _read(value)[0]


def loss_stage(value: object) -> Stage | None:
    """Return the stage of a loss, or None if nothing is lost."""
    return _read(value)[1]


def _read(value: object) -> tuple[str, Stage | None]:
    called = call(value)
    if called is not None and called[0] in _LAWS:
        return _LAWS[called[0]](arguments(called[1]))
    found = read(LOSS, value, tuple(_LAWS))
    digest = trace_of(found.parameter)
    if digest is not None and isinstance(trace_store.load(digest), str):
        return found.text, Stage("loss_trace", {"pattern": found.parameter})
    if found.parameter == 0:
        return found.text, None
    return found.text, Stage("loss", {"probability": found.parameter})


def _independent(share: Fraction) -> tuple[str, Stage | None]:
    return _read(units.print_share(share))


def _gilbert_elliott(given: list[str]) -> tuple[str, Stage | None]:
    if not 2 <= len(given) <= 4 or not all(given):
        raise UnitError(
            "gilbert_elliott(…) takes 2 to 4 shares: gilbert_elliott(GOOD_TO_BAD, BAD_TO_GOOD, LOSS_GOOD, LOSS_BAD), "
            "for example gilbert_elliott(1%, 25%)"
        )
    shares = [units.parse_share(item) for item in given]
    to_bad, to_good, good, bad = [*shares, *(Fraction(0), Fraction(1))[len(shares) - 2 :]]
    if to_bad == 0 or good == bad:  # it never leaves the good state, or the states are alike
        return _independent(good)
    if to_good == 0:
        raise UnitError("gilbert_elliott(…) goes from bad to good with 0%: it would never leave the bad state")
    names = ("good_to_bad", "bad_to_good", "loss_good", "loss_bad")
    parameters = dict(zip(names, map(float, (to_bad, to_good, good, bad)), strict=True))
    written = [to_bad, to_good, good, bad]
    if bad == 1:
        del written[3], parameters["loss_bad"]
        if good == 0:
            del written[2], parameters["loss_good"]
    elif good == 0:
        del parameters["loss_good"]
    return f"gilbert_elliott({', '.join(map(units.print_share, written))})", Stage("gilbert_elliott", parameters)


def _burst(given: list[str]) -> tuple[str, Stage | None]:
    if len(given) != 2 or not all(given):
        raise UnitError("burst(…) takes a share and a number of packets: for example burst(0.1%, 5)")
    begins, packets = units.parse_share(given[0]), _whole(given[1], "a burst's length", 1, _LONGEST_BURST)
    if begins == 0 or packets == 1:
        return _independent(begins)
    text = f"burst({units.print_share(begins)}, {packets})"
    return text, Stage("burst_loss", {"probability": float(begins), "packets": packets})


def _index(given: list[str]) -> tuple[str, Stage | None]:
    if given == [""]:
        raise UnitError("index(…) names no packet: write for example index(3, 7)")
    numbers = sorted({_whole(item, "a packet's number", 0, _HIGHEST_INDEX) for item in given})
    return f"index({', '.join(map(str, numbers))})", Stage("loss_index", {"indexes": tuple(numbers)})


_LAWS: dict[str, Callable[[list[str]], tuple[str, Stage | None]]] = {
    "gilbert_elliott": _gilbert_elliott,
    "burst": _burst,
    "index": _index,
}


def _whole(text: str, noun: str, minimum: int, maximum: int) -> int:
    number = text.removesuffix("packets").removesuffix("packet").strip()
    if not (number.isascii() and number.isdigit() and len(number) < 20) or not minimum <= int(number) <= maximum:
        raise UnitError(f"{text!r} is not {noun}: write a whole number from {minimum} to {maximum}")
    return int(number)
