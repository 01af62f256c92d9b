"""The suite of a gate: networks and sizes on which a change is judged, from a repository's `longlook.toml`.

    [gate]
    stack = "quic-go"               # default: the stack whose sources the repository has
    allows = "5%"                   # how much worse the change may be
    role = "both"                   # or server, client: the other end is `peer`
    metrics = ["page_load_time"]

    [[gate.cases]]
    name = "lossy"
    on = "10mbit,36ms,1%"           # as `longlook compare --on`
    size = "100KB"
    objects = 1

A repository without that file has DEFAULT.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from longlook.core import InputError, Scalar, nearest
from longlook.instruments.compare.spec import parse_gate
from longlook.study import parse_network

FILE = "longlook.toml"
_TABLE = "gate"


@dataclass(frozen=True)
class SuiteCase:
    """A network, and a page that is loaded there."""

    name: str
    on: str
    size: str = "1MB"
    objects: int = 1

    def settings(self) -> dict[str, Scalar]:
        """Return the settings of the case by dotted key; InputError if the network is none."""
        return {**parse_network(self.on), "workload.object": self.size, "workload.objects": self.objects}


@dataclass(frozen=True)
class Suite:
    """The cases of a gate, and what it allows."""

    cases: tuple[SuiteCase, ...]
    stack: str = ""
    allows: str = "5%"
    role: str = "both"
    peer: str = "quic-go"
    protocol: str = "h3"
    connection: str = "cold"
    metrics: tuple[str, ...] = ("page_load_time",)
    alpha: float = 0.05
    max_rounds: int = 40
    seed: int = 1

    @property
    def gate_pct(self) -> float:
        """How much worse a change may be, in percentage points."""
        return parse_gate(self.allows)

    def only(self, names: Iterable[str]) -> "Suite":
        """Return the suite with the named cases alone; InputError if there is no such case."""
        wanted = list(names)
        known = [case.name for case in self.cases]
        for name in wanted:
            if name not in known:
                raise InputError(f"--only {name}: the suite has no such case", f"known: {', '.join(known)}")
        return replace(self, cases=tuple(case for case in self.cases if not wanted or case.name in wanted))


DEFAULT = Suite(
    (
        SuiteCase("clean", "10mbit,36ms,1bdp"),
        SuiteCase("long", "50mbit,112ms,1bdp"),
        SuiteCase("lossy", "10mbit,36ms,1bdp,1%", size="100KB"),
        SuiteCase("bursts", "10mbit,36ms,1bdp,loss=burst(0.2%, 4)", size="100KB"),
        SuiteCase("shallow queue", "50mbit,36ms,queue=0.25bdp"),
        SuiteCase("reordering", "10mbit,36ms,1bdp,reorder=1%"),
    )
)
"""Six networks that part stacks: no fault, a long path, losses one by one and in bursts, little room, another order."""


def parse_suite(document: Mapping[str, Any], origin: str) -> Suite:
    """Return the suite of a document; `origin` names it in errors. InputError for a key or a value that cannot be."""
    table = document.get(_TABLE, {})
    if not isinstance(table, Mapping):
        raise InputError(f"{origin}: {_TABLE} is no table", f"write [{_TABLE}]")
    given = dict(table)
    rows = given.pop("cases", None)
    cases = DEFAULT.cases if rows is None else tuple(_case(row, origin) for row in _list(rows, f"{origin}: cases"))
    names = [case.name for case in cases]
    if not cases or len(set(names)) < len(names):
        raise InputError(f"{origin}: cases must have names of their own, and there must be one", "rename one of them")
    found = {"cases": cases, **_checked(Suite, given, f"{origin}: [{_TABLE}]")}
    if "metrics" in found:
        found["metrics"] = tuple(map(str, _list(found["metrics"], f"{origin}: metrics")))
    suite = Suite(**found)
    try:
        _ = suite.gate_pct, [case.settings() for case in cases]
    except InputError as error:
        raise InputError(f"{origin}: {error.message}", error.hint) from error
    return suite


def _case(row: object, origin: str) -> SuiteCase:
    where = f"{origin}: [[{_TABLE}.cases]]"
    if not isinstance(row, Mapping):
        raise InputError(f"{where}: no table", f'write [[{_TABLE}.cases]] with name = "…" and on = "…"')
    given = _checked(SuiteCase, row, where)
    if missing := [key for key in ("name", "on") if not given.get(key)]:
        raise InputError(f"{where}: {' and '.join(missing)} missing", 'for example name = "clean", on = "10mbit,36ms"')
    return SuiteCase(**given)


def _checked(kind: type, given: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return values of known keys, each of the type that the class's default has."""
    defaults = {item.name: item.default for item in fields(kind) if item.name != "cases"}
    for key, value in given.items():
        if key not in defaults:
            known = ", ".join(defaults)
            raise InputError(f"{where}: unknown key {key!r}", f"known: {known}{nearest(str(key), list(defaults))}")
        wanted = defaults[key] if isinstance(defaults[key], str | int | float | tuple) else ""
        same = isinstance(value, list) if isinstance(wanted, tuple) else isinstance(value, type(wanted))
        if isinstance(value, bool) or not (same or (isinstance(wanted, float) and isinstance(value, int))):
            raise InputError(f"{where}: {key} = {value!r}", f"allowed: a value such as {wanted or 'a text'!r}")
    return dict(given)


def _list(value: object, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise InputError(f"{where}: no list", "write [ … ], or a table for each entry")
    return value
