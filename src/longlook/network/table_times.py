"""Times in a table as people write them: numbers, ISO 8601, and dates of drive tests. Pure."""

import re
from datetime import UTC, datetime

_DOTTED = re.compile(r"(\d{4})\.(\d{1,2})\.(\d{1,2})[_ T](\d{1,2})\.(\d{1,2})\.(\d{1,2})(\.\d+)?")
"""2019.12.16_11.50.00, as G-NetTrack and its data sets have it."""
_ZONED = re.compile(r"(.*\d)\s*([A-Z]{2,5})")
"""2023-04-04 10:07:07 CDT."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def date_us(text: str) -> tuple[int, str] | None:
    """Return a date as µs since 1970, and the name of its time zone, whose distance from UTC is not known; else None.

    A date without a zone, or with a named one, counts as if it were UTC: differences within a zone are right.
    """
    zone = ""
    if (named := _ZONED.fullmatch(text)) is not None:
        text, zone = named.groups()
        zone = "" if zone in ("UTC", "GMT") else zone
    if (dotted := _DOTTED.fullmatch(text)) is not None:
        year, month, day, hour, minute, second, fraction = dotted.groups()
        text = f"{year}-{month:0>2}-{day:0>2}T{hour:0>2}:{minute:0>2}:{second:0>2}{fraction or ''}"
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        return None
    since = (date if date.tzinfo else date.replace(tzinfo=UTC)) - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds, zone
