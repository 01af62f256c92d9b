"""Frozen dataclasses to JSON and back, and the content hash that identifies them. Standard library only."""

import hashlib
import json
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


def encode(value: Any) -> Any:
    """Return the plain JSON data of a model object; fields with `omitted_when_empty` only where they say something."""
    if is_dataclass(value) and not isinstance(value, type):
        return {
            item.name: encode(getattr(value, item.name))
            for item in fields(value)
            if getattr(value, item.name) or not item.metadata.get("omitted_when_empty")
        }
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [encode(item) for item in value]
    if isinstance(value, Enum):
        return value.value
    return value


def decode(kind: type[T], data: Any) -> T:
    """Return a model object of type `kind` from plain JSON data; ValueError where the data does not fit."""
    result: T = _decode(kind, data, kind.__name__)
    return result


def _decode(kind: Any, data: Any, where: str) -> Any:
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
    if is_dataclass(kind):
        return _decode_dataclass(kind, data, where)
    return _decode_scalar(kind, data, where)


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
    if data is None and type(None) in members:
        return None
    candidates = [member for member in members if member is not type(None)]
    if len(candidates) == 1:
        return _decode(candidates[0], data, where)
    if type(data) in candidates:  # exact type first: True must stay a bool and 1 an int
        return data
    raise ValueError(f"{where}: {data!r} is none of {', '.join(map(str, candidates))}")


def _decode_dataclass(kind: Any, data: Any, where: str) -> Any:
    hints = get_type_hints(kind)
    entries = _expect(data, dict, where)
    known = {item.name for item in fields(kind)}
    if unknown := entries.keys() - known:
        raise ValueError(f"{where}: unknown key {sorted(unknown)[0]!r}")
    try:
        return kind(**{name: _decode(hints[name], item, f"{where}.{name}") for name, item in entries.items()})
    except TypeError as error:
        raise ValueError(f"{where}: {error}") from error


def _expect(data: Any, kind: Any, where: str) -> Any:
    if isinstance(kind, type) and (not isinstance(data, kind) or (isinstance(data, bool) and kind is not bool)):
        raise ValueError(f"{where}: {data!r} is not {kind.__name__}")
    return data


def canonical(value: Any) -> str:
    """Return the one JSON text of a value: sorted keys, no spaces, no NaN."""
    return json.dumps(encode(value), sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def content_hash(value: Any, length: int = 16) -> str:
    """Return the first `length` hex digits of the SHA-256 of the canonical JSON."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()[:length]
