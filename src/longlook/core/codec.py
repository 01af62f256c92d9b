"""Frozen dataclasses to JSON and back, and the content hash that identifies them. Standard library only."""

import hashlib
import json
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")

_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
_PLAIN = frozenset({str, int, float, bool, type(None)})


def encode(value: Any) -> Any:
    """Return the plain JSON data of a model object; fields with `omitted_when_empty` are left out if they are empty."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if isinstance(value, list | tuple):  # of a schedule there are thousands
        return [item if type(item) in _PLAIN else encode(item) for item in value]
    if is_dataclass(kind):
        found = ((name, getattr(value, name), omitted) for name, omitted in _members(kind))
        return {name: encode(item) for name, item, omitted in found if item or not omitted}
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, Enum):
        return value.value
    return value


@cache
def _members(kind: type) -> tuple[tuple[str, bool], ...]:
    """Return the fields of a dataclass by name, and whether each is left out if it is empty."""
    return tuple((item.name, bool(item.metadata.get("omitted_when_empty"))) for item in fields(kind))


@cache
def _kinds(kind: type) -> Mapping[str, Any]:
    """Return the types of a dataclass's fields; they are texts in the class, and reading those takes long."""
    hints = get_type_hints(kind)
    return {name: hints[name] for name, _ in _members(kind)}


def decode(kind: type[T], data: Any) -> T:
    """Return a model object of type `kind` from plain JSON data; ValueError if the data does not fit."""
    result: T = _decode(kind, data, kind.__name__)
    return result


def _decode(kind: Any, data: Any, where: str) -> Any:
    if type(data) is kind:  # most values are texts and numbers
        return data
    if kind is Any:
        return _frozen(data)
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return _decode_union(kind, data, where)
    if origin is tuple:
        item_kind = get_args(kind)[0]
        return tuple(_decode(item_kind, item, f"{where}[{i}]") for i, item in enumerate(_expect(data, list, where)))
    if origin is not None and issubclass(origin, Mapping):
        key_kind, item_kind = get_args(kind)
        entries = _expect(data, dict, where).items()
        return {_decode(key_kind, key, where): _decode(item_kind, item, f"{where}.{key}") for key, item in entries}
    return (_decode_dataclass if is_dataclass(kind) else _decode_scalar)(kind, data, where)


def _frozen(data: Any) -> Any:
    """Return JSON data of any shape with tuples for lists, as model objects have them."""
    if isinstance(data, dict):
        return {key: _frozen(item) for key, item in data.items()}
    return tuple(_frozen(item) for item in data) if isinstance(data, list) else data


def _decode_scalar(kind: Any, data: Any, where: str) -> Any:
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(data)
    if kind is float and isinstance(data, int) and not isinstance(data, bool):
        try:
            return float(data)
        except OverflowError as error:
            raise ValueError(f"{where}: a number of {data.bit_length()} bits is too large") from error
    return _expect(data, kind, where)


def _decode_union(kind: Any, data: Any, where: str) -> Any:
    members = get_args(kind)
    if type(data) in members:  # exact type first: True must stay a bool and 1 an int
        return data
    candidates = [member for member in members if member is not type(None)]
    if len(candidates) == 1:
        return _decode(candidates[0], data, where)
    raise ValueError(f"{where}: {data!r} is none of {', '.join(map(str, candidates))}")


def _decode_dataclass(kind: Any, data: Any, where: str) -> Any:
    kinds = _kinds(kind)
    entries = _expect(data, dict, where)
    if unknown := entries.keys() - kinds.keys():
        raise ValueError(f"{where}: unknown key {sorted(unknown)[0]!r}")
    try:
        return kind(**{name: _decode(kinds[name], item, f"{where}.{name}") for name, item in entries.items()})
    except TypeError as error:
        raise ValueError(f"{where}: {error}") from error


def _expect(data: Any, kind: Any, where: str) -> Any:
    if isinstance(kind, type) and (not isinstance(data, kind) or (isinstance(data, bool) and kind is not bool)):
        raise ValueError(f"{where}: {data!r} is not {kind.__name__}")
    return data


def canonical(value: Any) -> str:
    """Return the one JSON text of a value: sorted keys, no spaces, no NaN."""
    return _CANONICAL.encode(encode(value))


def content_hash(value: Any, length: int = 16) -> str:
    """Return the first `length` hex digits of the SHA-256 of the canonical JSON."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()[:length]
