"""Problems of a study or dispute file, collected so that one reading reports all of them."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from longlook.core.errors import InputError
from longlook.core.registry import nearest

_LONGEST_VALUE = 60
_LONGEST_LINE = 4_000
_MOST_LINES = 100


class SettingError(Exception):
    """One setting that cannot be. `key` is dotted, as in a study file; `absent` means that it is not set at all."""

    def __init__(self, key: str, message: str, *, absent: bool = False) -> None:
        """Name the setting and what is wrong with it."""
        super().__init__(f"{key}: {message}")
        self.key = key
        self.message = message
        self.absent = absent


@dataclass
class Problems:
    """Problems of one file, each once, in the order found.

    `dropped` are the file's top-level keys that were not of the right shape, so that something of them was left out:
    whatever names a part of them cannot be checked.
    """

    file: str
    hint: str = "docs/reference/studies.md lists every key with its unit and default"
    lines: list[str] = field(default_factory=list)
    dropped: set[str] = field(default_factory=set)
    _keys: set[tuple[str, ...]] = field(default_factory=set)

    def add(self, key: str, message: str) -> None:
        """Add a problem with something that has no single value."""
        self._add(key, f"{key}: {message}")

    def add_value(self, key: str, value: object, message: str) -> None:
        """Add a problem with a value."""
        self._add(key, f"{key} = {shown(value)}: {message}")

    def touch(self, *keys: str) -> bool:
        """Whether there is a problem with any of these keys (`network`, `arms.quic`) or with one below them."""
        wanted = [tuple(key.split(".")) for key in keys]
        return any(found[: len(key)] == key for key in wanted for found in self._keys)

    def raise_if_any(self) -> None:
        """Raise all problems as one InputError."""
        if self.lines:
            raise InputError("\n".join(self.lines), self.hint)

    def _add(self, key: str, text: str) -> None:
        self._keys.add(tuple(key.removeprefix("--set ").partition("[")[0].split(".")))
        line = f"{self.file}: {text if len(text) <= _LONGEST_LINE else f'{text[:_LONGEST_LINE]}…'}"
        if line not in self.lines:
            self.lines.append(line)
        if len(self.lines) == _MOST_LINES:
            self.lines.append(f"{self.file}: and perhaps more: reading ended after {_MOST_LINES} problems")
            self.raise_if_any()


def shown(value: object) -> str:
    """Return a value as a study file would write it, cut if it is long."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"


def allowed(name: object, known: Iterable[str]) -> str:
    """Return `allowed: a, b; did you mean 'a'?`."""
    names = list(known)
    return f"allowed: {', '.join(names) or 'none'}{nearest(str(name), names)}"


def flatten(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested tables as dotted keys; `{a: {b: 1}}` and `{"a.b": 1}` are the same."""
    flat: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, Mapping):
            flat.update(flatten(value, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = value
    return flat
