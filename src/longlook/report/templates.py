"""The templates of every page, and the look that they share."""

from importlib.resources import files

import jinja2
from markupsafe import Markup


def template(name: str) -> jinja2.Template:
    """A template of `assets/`; what it is not given is an error, and what it is given is escaped."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("longlook.report", "assets"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)


def asset(name: str) -> Markup:
    """A file of `assets/` for a page to hold as it is."""
    return Markup(files("longlook.report").joinpath("assets", name).read_text(encoding="utf-8"))  # noqa: S704 our own file
