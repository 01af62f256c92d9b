"""Charts of many rows."""

from typing import Any

import altair as alt


class Drawn:
    """A chart and, apart from it, its rows: inside the chart Altair would check each row against its schema."""

    def __init__(self) -> None:
        self.chart: Any = None
        self._datasets: dict[str, list[dict[str, Any]]] = {}

    def rows(self, values: list[dict[str, Any]]) -> Any:
        """Return a chart of some rows."""
        name = f"rows{len(self._datasets)}"
        self._datasets[name] = values
        return alt.Chart(alt.NamedData(name))

    def to_dict(self, validate: bool = True) -> dict[str, Any]:
        """Return the whole as Vega-Lite."""
        return {**self.chart.to_dict(validate=validate), "datasets": self._datasets}
