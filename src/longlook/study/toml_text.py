"""A document as the text of a TOML file that people would write: Python reads TOML, and writes none. Pure."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_WIDTH = 118


def as_toml(document: Mapping[str, Any]) -> str:
    """Return TOML that `tomllib` reads as the same document: values, then tables, each below a heading of its own.

    `document` has strings, whole numbers, floats, truth values, lists and mappings with strings as keys, as a file
    that was read. TypeError for anything else.
    """
    return "\n".join(_table(document, ())).strip("\n") + "\n"


def _table(table: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    """Yield the lines of a table: its heading if it has values of its own or is empty, and then the tables in it."""
    tables = {key: value for key, value in table.items() if isinstance(value, Mapping)}
    values = {key: value for key, value in table.items() if key not in tables}
    if path and (values or not tables):
        yield ""
        yield f"[{'.'.join(map(_key, path))}]"
    for key, value in values.items():
        yield from _assignment(_key(key), value)
    for key, value in tables.items():
        yield from _table(value, (*path, key))


def _assignment(key: str, value: Any) -> Iterator[str]:
    line = f"{key} = {_value(value)}"
    if len(line) <= _WIDTH or not isinstance(value, list | tuple):
        yield line
        return
    yield f"{key} = ["
    yield from (f"  {_value(item)}," for item in value)
    yield "]"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_key(key)} = {_value(item)}' for key, item in value.items())} }}" if value else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    raise TypeError(f"a study holds no {type(value).__name__}: {value!r}")


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")  # JSON's escapes are among TOML's
