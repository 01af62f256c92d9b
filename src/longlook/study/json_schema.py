"""The JSON schema of study files, for editors: made of the shapes in `schema` and the meanings in keys.toml.

Tables of settings stay open, as their keys depend on what is installed: the schema has the keys that keys.toml names,
with what they mean, and refuses no others. `longlook study check` finds what is wrong with a value.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

from longlook.study.schema import StudyTable

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_SHAPES = {
    "factors": "FactorTable",
    "contrasts": "ContrastTable",
    "analysis": "AnalysisTable",
    "capture": "CaptureTable",
    "figure": "FigureTable",
    "population": "PopulationTable",
    "claims": "ClaimTable",
}
"""Tables of keys.toml with a shape of their own, and its name in the schema."""

_OPEN = {
    "workload": ("workload",),
    "network": ("network", "behind", "second"),
    "arms": ("defaults",),
}
"""Tables of keys.toml with settings, and the tables of a study that have them."""

_PLAIN_KEY = re.compile(r"[a-z][a-z0-9_]*")
_LINK = re.compile(r"\[((?:\[[^]]*\]+|[^]])*)\]\([^)]*\)")
_MORE = re.compile(r" ?\(\[more\]\([^)]*\)\)")


def study_schema() -> dict[str, Any]:
    """Return the schema of a study file as JSON's data."""
    texts = tomllib.loads(files("longlook.study").joinpath("keys.toml").read_text(encoding="utf-8"))
    made = StudyTable.model_json_schema(by_alias=True)
    shapes, own = made["$defs"], made["properties"]
    _describe(own, texts["study"])
    for table, shape in _SHAPES.items():
        _describe(shapes[shape]["properties"], texts[table])
    for table, places in _OPEN.items():
        settings = {key: {"description": meaning} for key, meaning in _meanings(texts[table])}
        for place in places:
            own[place] = {"type": "object", "properties": settings}
    own["arms"] = {"type": "object", "additionalProperties": own["defaults"]}
    shapes["ContrastTable"] = {  # a list of two names stands for a baseline and its contender
        "anyOf": [shapes["ContrastTable"], {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2}]
    }
    _units_as_texts(made)
    del made["required"]  # a study that extends another one needs no key of its own
    return {
        "$schema": _DIALECT,
        **made,
        "title": "A study of Longlook",
        "description": "docs/reference/study-keys.md has every key. A study that extends another one needs fewer.",
    }


def _describe(properties: dict[str, Any], rows: list[Mapping[str, Any]]) -> None:
    for key, meaning in _meanings(rows):
        if key in properties:
            properties[key] = {**properties[key], "description": meaning}


def _meanings(rows: list[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield each key that is spelt out, with its meaning without Markdown."""
    for row in rows:
        text = _LINK.sub(r"\1", _MORE.sub("", row["meaning"])).replace("`", "")
        for key in row["keys"]:
            if _PLAIN_KEY.fullmatch(key):
                yield key, text


def _units_as_texts(node: Any) -> None:
    """Let numbers be texts too, in place: files write them with a unit, such as `timeout = "60s"`."""
    if isinstance(node, dict):
        if node.get("type") == "number" and "exclusiveMaximum" not in node:
            node["type"] = ["number", "string"]
            node.pop("gt", None)  # pydantic's own words for bounds behind a parser
            node.pop("le", None)
        for each in node.values():
            _units_as_texts(each)
    elif isinstance(node, list):
        for each in node:
            _units_as_texts(each)
