"""The shape of a study file (pydantic); the meaning of its settings is checked in `settings` and `checks`.

`parse_table` reports where a study or dispute file departs from its shape.
"""

import re
import types
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Annotated, Any, ClassVar, Final, Literal, TypeGuard, TypeVar, Union, get_args, get_origin

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from longlook.core import Problems, allowed, units

LONGEST_NAME = 100
LONGEST_LABEL = 200
LONGEST_TIMEOUT_S = 86_400
MOST_FACTORS = 32
MOST_LEVELS = 1_000
MOST_CELLS = 10_000
MOST_ARMS = 200
MOST_RULES = 200
MOST_CONTRASTS = 1_000
MOST_HYPOTHESES = 200
MOST_METRICS = 200
MOST_ROUNDS = 100_000
DECIDE = "decide"
STRATA: Final = "strata"
SAMPLED: Final = "sampled"
"""Ways of treating random losses."""
"""As `rounds`: until each cell is decided."""
LABEL = f"one line of text, of at most {LONGEST_LABEL} characters"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def _in_units(parse: Callable[[object], float]) -> BeforeValidator:
    def convert(value: object) -> float:
        try:
            return parse(value)
        except units.UnitError as error:
            raise PydanticCustomError("unit", "{problem}", {"problem": str(error)}) from error

    return BeforeValidator(convert)


def _name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise PydanticCustomError(
            "name", "a name has letters, digits, '_', '-' and '.', and begins with one of the first"
        )
    return value


def is_label(value: object) -> TypeGuard[str]:
    """Whether a value can name something: a line of text that is neither empty nor too long."""
    return isinstance(value, str) and bool(value.strip()) and "\n" not in value and len(value) <= LONGEST_LABEL


def _label(value: str) -> str:
    if not is_label(value):
        raise PydanticCustomError("label", "must be {what}", {"what": LABEL})
    return value


def _whole(value: object) -> object:
    """Return a value unless it is equal to a whole number without being one: true, 1.0."""
    if type(value) is not int:
        raise PydanticCustomError("int_type", "must be a whole number")
    return value


SchemaVersion = Annotated[Literal[1], BeforeValidator(_whole)]
Seconds = Annotated[float, _in_units(lambda value: units.parse_time(value) / 1e9), Field(gt=0, le=LONGEST_TIMEOUT_S)]
Percent = Annotated[float, _in_units(lambda value: float(units.parse_share(value) * 100))]
Name = Annotated[str, Field(max_length=LONGEST_NAME), AfterValidator(_name)]
Text = Annotated[str, Field(min_length=1)]
Label = Annotated[str, AfterValidator(_label)]
Scalar = str | int | float | bool


class Table(BaseModel):
    """A table of the file: no other keys, no silent conversions."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    stand_in: ClassVar[Mapping[str, Any] | None] = None
    """Harmless values of all required keys, with which the rest of a broken file is checked; None: it is not."""


Parsed = TypeVar("Parsed", bound=Table)


class FactorTable(Table):
    """`[[factors]]`."""

    name: Name
    sets: str | None = None
    levels: Annotated[list[Any], Field(min_length=1, max_length=MOST_LEVELS)]


class ContrastTable(Table):
    """`[[contrasts]]`: baseline and contender, or neighbours, each of which is the baseline of the next.

    `metric` is the first of the study's if there is none. A list of two names is a baseline and its contender.
    """

    name: Label
    baseline: str | None = None
    contender: str | None = None
    neighbours: Literal["all"] | list[str] | None = None
    family: Label | None = None
    metric: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _pair(cls, given: Any) -> Any:
        if isinstance(given, list) and len(given) == 2 and all(isinstance(name, str) for name in given):
            baseline, contender = given
            return {"name": f"{contender} vs {baseline}", "baseline": baseline, "contender": contender}
        return given


class ExpectedTable(Table):
    """`metrics.NAME` of a claim: a level, and the bounds within which ours is the same finding.

    The key of the level tells whose number it is; of `published`, `derived` and `read_as` at most one.
    """

    published: int | float | None = None
    derived: int | float | None = None
    read_as: int | float | None = None
    at_least: int | float | None = None
    at_most: int | float | None = None
    below: int | float | None = None


class ClaimTable(Table):
    """`[[claims]]`: one published figure or table: effects of a contrast, a value per cell, or levels of an arm."""

    id: Label
    source: Text
    contrast: str | None = None
    rows: str | None = None
    columns: str | None = None
    cell: dict[str, str] = {}
    counts_as: Text | None = None
    uncertainty: Percent = 0.0
    clipped_at: Percent | None = None
    effect_pct: dict[str, dict[str, int | float | Literal["ns", "+", "-"]]] = {}
    origin: Literal["published", "derived", "read_as"] | None = None
    arm: str | None = None
    metrics: dict[str, ExpectedTable] = {}
    untestable: Text | None = None


class HypothesisTable(Table):
    """`[[hypotheses]]`: the verdict that is foreseen for the cells with these levels."""

    id: Label
    contrast: str
    cell: dict[str, str] = {}
    expect: Literal["better", "worse", "equivalent"]
    at_least: Percent | None = None
    because: Text | None = None


class AnalysisTable(Table):
    """`[analysis]`."""

    alpha: Annotated[float, Field(gt=0, lt=1)] = 0.01
    confidence: Annotated[float, Field(gt=0, lt=1)] = 0.95
    equivalence_margin: Percent | None = None
    correction: Literal["holm", "fdr_bh", "none"] = "holm"
    min_rounds: Annotated[int, Field(ge=2)] = 10
    reference: str | None = None


class CaptureTable(Table):
    """`[capture]`."""

    qlog: bool = False
    keylog: bool = False
    tcp: bool = False
    netlog: bool = False
    cpu: bool = False


class FigureTable(Table):
    """`[figure]`."""

    kind: Literal["heatmap", "trend", "matrix", "dots", "population"] = "heatmap"
    columns: str
    rows: list[str] = []
    metric: Text | None = None


class PopulationTable(Table):
    """`[population]`: the levels of a factor as strata of a population of paths."""

    factor: str
    shares: Annotated[dict[str, Percent], Field(min_length=1)]
    source: Text


class StudyTable(Table):
    """A whole file. Tables of settings are open here: their keys depend on what is installed."""

    stand_in: ClassVar[Mapping[str, Any] | None] = {
        "schema": 1,
        "title": "?",
        "question": "?",
        "metrics": ["?"],
        "arms": {},
        "workload": {},
        "network": {},
        "factors": [{"name": "none", "levels": [{"label": "?", "network.loss": "0%"}]}],
        "contrasts": [{"name": "?", "baseline": "?", "contender": "?", "metric": "?"}],
    }

    schema_: Annotated[SchemaVersion, Field(alias="schema")]
    extends: str | None = None
    title: Label
    question: Text
    source: str | None = None
    notes: str | None = None
    rounds: Literal["decide"] | Annotated[int, Field(ge=1, le=MOST_ROUNDS)] = 10
    max_rounds: Annotated[int, Field(ge=1, le=MOST_ROUNDS)] | None = None
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    timeout: Seconds = 60.0
    retries_when_invalid: Annotated[int, Field(ge=0, le=100)] = 2
    around: Any = None  # "standard", "none" or a table: `build` checks it
    losses: Literal["strata", "sampled"] = SAMPLED
    metrics: Annotated[list[str], Field(min_length=1, max_length=MOST_METRICS)]
    arms: Annotated[dict[Name, dict[str, Any]], Field(max_length=MOST_ARMS)]
    defaults: dict[str, Any] = {}
    workload: dict[str, Any]
    network: dict[str, Any] = {}
    behind: dict[str, Any] = {}
    second: dict[str, Any] = {}
    capture: CaptureTable = CaptureTable()
    factors: Annotated[list[FactorTable], Field(min_length=1, max_length=MOST_FACTORS)]
    exclude: Annotated[list[dict[str, str | list[str]]], Field(max_length=MOST_RULES)] = []
    contrasts: Annotated[list[ContrastTable], Field(min_length=1, max_length=MOST_CONTRASTS)]
    analysis: AnalysisTable = AnalysisTable()
    figure: FigureTable | None = None
    population: PopulationTable | None = None
    claims: list[ClaimTable] = []
    hypotheses: Annotated[list[HypothesisTable], Field(max_length=MOST_HYPOTHESES)] = []
    expect: dict[str, Any] = {}  # quantity → text, number or a list of these


class ScenarioTable(StudyTable):
    """A file with one arm, which is judged by its expectations alone: what it leaves out has other defaults."""

    rounds: Literal["decide"] | Annotated[int, Field(ge=1, le=MOST_ROUNDS)] = 1
    capture: CaptureTable = CaptureTable(qlog=True, tcp=True)
    factors: Annotated[list[FactorTable], Field(max_length=MOST_FACTORS)] = []
    contrasts: Annotated[list[ContrastTable], Field(max_length=0)] = []


def parse_table(kind: type[Parsed], document: Mapping[str, Any], problems: Problems) -> Parsed | None:
    """Return the document as a table of this kind, with every departure from its shape added to `problems`.

    A document with departures is returned without the offending values, or with stand-ins for the top-level keys that
    cannot do without them, so that the rest can be checked too; `problems.dropped` names those keys. None if a kind
    has no stand-ins.
    """
    try:
        return kind.model_validate(document)
    except ValidationError as error:
        for details in error.errors():
            _explain(details, kind, document, problems)
        problems.dropped |= {  # nothing is missing without a key that no table has
            str(details["loc"][0]) for details in error.errors() if details["type"] != "extra_forbidden"
        }
        remainder = _without([details["loc"] for details in error.errors()], document)
    try:
        return kind.model_validate(remainder)
    except ValidationError as error:
        broken = {str(details["loc"][0]) for details in error.errors()}
    if kind.stand_in is None:
        return None
    sound = {key: value for key, value in remainder.items() if key not in broken}
    return kind.model_validate({**kind.stand_in, **sound})


def _without(locs: list[tuple[int | str, ...]], document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of the document without the values at some places; places without a value are passed over."""
    remainder = deepcopy(dict(document))
    for *parents, last in sorted(locs, key=str, reverse=True):  # of a list, the last first
        here: Any = remainder
        for part in parents:
            here = _item(here, part)
        if _item(here, last) is not None:
            del here[last]
    return remainder


def _item(container: Any, key: int | str) -> Any:
    if isinstance(container, dict):
        return container.get(key)
    return container[key] if isinstance(container, list) and isinstance(key, int) and key < len(container) else None


_EXAMPLES = {
    "factors": "; a study has one or more: for a single condition write one factor with one level, for example "
    'name = "rate", sets = "network.rate", levels = ["10Mbit"]'
}

_PLAIN = {
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "string_type": "must be a text",
    "list_type": "must be a list",
    "dict_type": "must be a table",
    "model_type": "must be a table",
    "too_short": "must not be empty",
    "string_too_short": "must not be empty",
}


def _explain(details: ErrorDetails, root: type[Table], document: Mapping[str, Any], problems: Problems) -> None:
    loc, kind, context = details["loc"], details["type"], details.get("ctx", {})
    key = dotted(loc, document)
    if kind == "missing":
        known = _keys_at(root, loc[:-1])
        near = [name for name in _document_keys(document, loc[:-1]) if name not in known]
        misspelt = f" (instead of {near[0]!r}?)" if len(near) == 1 else ""
        problems.add(key, f"missing{misspelt}{_EXAMPLES.get(key, '')}")
    elif kind == "extra_forbidden":
        problems.add_value(key, details["input"], f"unknown key; {allowed(loc[-1], _keys_at(root, loc[:-1]))}")
    elif kind == "literal_error":
        expected = re.findall(r"'?([\w.]+)'?(?:, | or |$)", str(context["expected"]))
        problems.add_value(key, details["input"], allowed(details["input"], expected))
    elif kind in _PLAIN:
        problems.add_value(key, details["input"], f"{_PLAIN[kind]}{_EXAMPLES.get(key, '')}")
    else:
        problems.add_value(key, details["input"], details["msg"].replace("Input should be", "must be"))


def dotted(loc: tuple[int | str, ...], document: Mapping[str, Any]) -> str:
    """Return a place as `analysis.alpha`, `factors.rate.levels` or `metrics[2]`, without pydantic's tags of unions."""
    text = ""
    here: Any = document
    for part in loc:
        if isinstance(part, int):
            here = _item(here, part)
            name = here.get("name", here.get("id")) if isinstance(here, Mapping) else None
            text += f".{name}" if isinstance(name, str) and name else f"[{part}]"
        elif here is None or isinstance(here, Mapping):
            text += f".{part}" if text else part
            here = _item(here, part)
    return text


def _document_keys(document: Mapping[str, Any], loc: tuple[int | str, ...]) -> list[str]:
    here: Any = document
    for part in loc:
        here = here[part]
    return list(here)


def _keys_at(root: type[Table], loc: tuple[int | str, ...]) -> list[str]:
    """Return the keys of the table at a place in the schema."""
    here: Any = root
    for part in loc:
        if isinstance(here, type) and issubclass(here, BaseModel):
            fields = {field.alias or name: field.annotation for name, field in here.model_fields.items()}
            here = _bare(fields[str(part)])
        else:
            here = _bare(get_args(here)[-1])
    return [field.alias or name for name, field in here.model_fields.items()]


def _bare(annotation: Any) -> Any:
    """Return the annotation without Optional and Annotated."""
    while get_origin(annotation) in (Union, types.UnionType, Annotated):
        annotation = next(member for member in get_args(annotation) if member is not type(None))
    return annotation
