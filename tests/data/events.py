"""Events written by hand for tests."""

from typing import Any

import pyarrow as pa

from longlook.timeline.events import EVENT_SCHEMA, Events


def row(time_ns: int, kind: str, *, vantage: str = "server", source: str = "qlog", **columns: Any) -> dict[str, Any]:
    """One event; columns not named are null, and it is of the measured connection."""
    return {"time_ns": time_ns, "kind": kind, "vantage": vantage, "source": source, "priming": False, **columns}


def events_of(*rows: dict[str, Any]) -> Events:
    """A table of these rows, in the order given."""
    return Events(table_of(*rows))


def table_of(*rows: dict[str, Any]) -> pa.Table:
    """The same as an Arrow table with the columns of EVENT_SCHEMA."""
    columns = []
    for field in EVENT_SCHEMA:
        plain = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        values = pa.array([each.get(field.name) for each in rows], plain)
        columns.append(values.dictionary_encode().cast(field.type) if plain is not field.type else values)
    return pa.table(columns, schema=EVENT_SCHEMA)
