"""Load templates, styles and scripts, each of which lies beside the code that uses it or in `assets/`.

Names are paths below `report/`; a name in another package is a path below the package `longlook`.
"""

import json
import math
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

from longlook.core import visible
from longlook.report.charts.export import javascript

_PACKAGES = ("longlook.report", "longlook")
"""The packages in which a name is looked for, in this order."""


def template(name: str) -> jinja2.Template:
    """Return a template by its name; a variable that it lacks is an error.

    It escapes what it is given, and shows control characters.
    """
    return _environment().get_template(name)


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(package, ".") for package in _PACKAGES]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_visible,
    )


def _visible(value: Any) -> Any:
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def asset(name: str) -> Markup:
    """Return a style or script by its name, to be put into a page as it is."""
    found = next(file for package in _PACKAGES if (file := files(package).joinpath(name)).is_file())
    return Markup(found.read_text(encoding="utf-8"))  # noqa: S704 our own file


def vega() -> Markup:
    """Return Vega, Vega-Lite and Vega-Embed as the contents of one script element."""
    return Markup(javascript().replace("</script", "<\\/script"))  # noqa: S704 the bundled libraries


def embedded_json(data: Any) -> Markup:
    """Return JSON that may stand inside a script element: without `<`, with null for NaN and infinity, and with control
    characters shown.
    """
    text = json.dumps(_plain(data), separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    text = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return Markup(text)  # noqa: S704 escaped in the line above


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {_visible(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, str):
        return visible(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value
