"""Whether a link is one that the router takes, by the router's own schema: `longlook-link describe`.

The package carries what that prints (`network/schema.json`), so that a study is checked before anything runs and where
no router is. To renew it: `longlook-link describe | python -m json.tool --indent 1 > src/longlook/network/schema.json`.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from longlook.core.model import Json, Link, Stage
from longlook.core.registry import nearest
from longlook.network.trace_store import load
from longlook.network.varying import resolved

_SHOWN = 60


@dataclass(frozen=True)
class Violation:
    """What the router would refuse. `parameter` is empty where it is the stage itself."""

    direction: str
    kind: str
    parameter: str
    message: str


@cache
def schema() -> dict[str, Any]:
    """The schema of a configuration."""
    found: dict[str, Any] = json.loads(files("longlook").joinpath("network/schema.json").read_text())
    return found


@cache
def stage_schemas() -> Mapping[str, dict[str, Any]]:
    """Of every stage by its kind: the schema of its parameters, an object."""
    stages = schema()["$defs"]["stage"]["oneOf"]
    return {stage["title"]: stage["properties"]["parameters"] for stage in stages}


def violations(link: Link) -> Iterator[Violation]:
    """All that is wrong with a link, in the order of its stages."""
    for direction, stages in (("up", link.up), ("down", link.down)):
        for number, stage in enumerate(stages):
            for parameter, message in _wrong_with(stage):
                where = f"{direction}, stage {number} ({stage.kind})"
                yield Violation(direction, stage.kind, parameter, f"{where}{message}")


def _wrong_with(stage: Stage) -> Iterator[tuple[str, str]]:
    known = stage_schemas()
    if stage.kind not in known:
        yield "", f": the link has no such stage; allowed: {', '.join(known)}{nearest(stage.kind, list(known))}"
        return
    properties: Mapping[str, Any] = known[stage.kind]["properties"]
    for name in known[stage.kind].get("required", ()):
        if name not in stage.parameters:
            yield name, f": {name} is missing; allowed: {_allowed(properties[name])}"
    for name, value in resolved(stage, lambda digest: _sample(load(digest))).parameters.items():
        if name not in properties:
            yield name, f": unknown key {name}; allowed: {', '.join(properties)}{nearest(name, list(properties))}"
        elif (problem := _problem(name, _plain(value), properties[name])) is not None:
            yield name, f", {problem}"


def _problem(name: str, value: Json, rules: Mapping[str, Any]) -> str | None:
    """What is wrong with a value of a parameter, if anything."""
    if not isinstance(value, dict):
        fits = _errors(value, rules)
        return None if not fits else f"{name} is {_shown(value)}; allowed: {_allowed(rules)}"
    forms = {key: form for form in rules.get("oneOf", ()) for key in form.get("required", ())}
    form = next((forms[key] for key in value if key in forms), None)
    if form is None:
        ways = f"; it varies as {', '.join(forms)}" if forms else ""
        return f"{name} is {_shown(value)}; allowed: {_allowed(rules)}{ways}"
    errors = _errors(value, form)
    if not errors:
        return None
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in errors[0].absolute_path)
    return f"{name}{path} is {_shown(errors[0].instance)}; allowed: {_allowed(errors[0].schema)}"


def _errors(value: Json, rules: Mapping[str, Any]) -> list[Any]:
    from jsonschema import Draft202012Validator  # slow to import, and only whoever plans needs it

    return list(Draft202012Validator(rules).iter_errors(value))


def _allowed(rules: Mapping[str, Any]) -> str:
    """A schema of ours in words."""
    if alternatives := rules.get("oneOf") or rules.get("anyOf"):
        varies = any(form.get("type") == "object" for form in alternatives)
        words = [_allowed(form) for form in alternatives if form.get("type") != "object"]
        return ", ".join(words) + _unit(rules) + (", or one that varies" if varies else "")
    if "enum" in rules or "const" in rules:
        return ", ".join(map(str, [*rules.get("enum", ()), *([rules["const"]] if "const" in rules else ())]))
    if rules.get("type") in ("integer", "number"):
        noun = "a whole number" if rules["type"] == "integer" else "a number"
        return f"{noun}{_bounds(rules)}{_unit(rules)}"
    if "pattern" in rules:
        return f"a text of {rules['pattern']}"
    nouns = {"array": "a list with one entry or more", "boolean": "true or false", "string": "a text"}
    return nouns.get(str(rules.get("type")), "a table")


def _bounds(rules: Mapping[str, Any]) -> str:
    low, high = rules.get("minimum"), rules.get("maximum")
    below = rules.get("exclusiveMaximum")
    return "".join(
        f" {word} {bound:,}".replace(",", " ")
        for word, bound in (("from", low), ("to", high), ("below", below))
        if bound is not None
    )


def _unit(rules: Mapping[str, Any]) -> str:
    return "" if rules.get("x-unit") in (None, "1") else f" {rules['x-unit']}"


def _sample(trace: Json) -> Json:
    """What is left to check of a trace, which its reader has checked: its form. A long one would take seconds."""
    if isinstance(trace, str):
        return trace[:1]
    if "opportunities" in trace:
        return {"opportunities": {**trace["opportunities"], "runs": trace["opportunities"]["runs"][:1]}}
    return {**trace, "steps": trace["steps"][:1]}


def _plain(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _shown(value: Json) -> str:
    text = json.dumps(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
