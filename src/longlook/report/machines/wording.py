"""Numbers and names as drawings show them."""


def percent(share: float) -> str:
    """Return a share with at most three figures: 62 %, 3.1 %, <0.1 %."""
    if 0 < share < 0.001:
        return "<0.1 %"
    value = 100 * share
    return f"{value:.1f} %" if 0 < value < 9.95 else f"{value:.0f} %"


def duration(time_ns: float) -> str:
    """Return a time in its natural unit: 250 ns, 1.23 ms, 4.56 s, 12.3 min."""
    for unit, length_ns in (("min", 600e9), ("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if time_ns >= length_ns:
            return f"{time_ns / (60e9 if unit == 'min' else length_ns):.3g} {unit}"
    return f"{time_ns:.0f} ns"


def p_value(p: float) -> str:
    """Return a p value as text: p = 0.012, p < 0.001."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: 1 trace, 1,234 traces."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def spoken(name: str) -> str:
    """Return a state's name for people: congestion_avoidance becomes congestion avoidance."""
    return name.replace("_", " ")
