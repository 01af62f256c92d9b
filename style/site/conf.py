"""The site of the documents: `make site` builds it with Sphinx, where every warning is an error.

The source is the checkout, so that links between docs, README and the folders of adapters lead somewhere in the site
too. docs/README.md lists every page by its kind: the navigation is made of it, and nowhere else.
"""

import os
import re
from pathlib import Path

from sphinx.application import Sphinx

project = "Longlook"
project_copyright = "the authors of Longlook, Apache-2.0"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "docs/README"
include_patterns = [
    "*.md",
    "docs/*.md",
    "docs/**/*.md",
    "adapters/CONTRACT.md",
    "adapters/*/README.md",
    "kernel/README.md",
]
exclude_patterns = [
    ".*",
    "target",
    "runs",
    "dist",
    "site",
    "fuzz",
    "src",
    "crates",
    "tests",
    "benches",
    "**/node_modules",
]
suppress_warnings = ["misc.highlighting_failure"]
highlight_language = "none"
myst_heading_anchors = 6
myst_enable_extensions = ["html_image"]

html_theme = "furo"
html_title = "Longlook"
html_static_path = ["static"]
html_css_files = ["longlook.css"]
html_copy_source = False
html_show_sphinx = False

_SECTION = re.compile(r"^## (?P<kind>[^:\n]+)")
_PAGE = re.compile(r"^- \[[^\]]+\]\((?P<page>[^)#]+)\.md\)")


def navigation(index: str) -> str:
    """Return hidden tables of contents, one for each section of the index, as MyST reads them."""
    kinds: dict[str, list[str]] = {}
    for line in index.splitlines():
        if section := _SECTION.match(line):
            kinds[section["kind"]] = []
        elif (page := _PAGE.match(line)) and kinds:
            kinds[[*kinds][-1]].append("/" + os.path.normpath(Path("docs") / page["page"]))
    return "".join(
        f"\n```{{toctree}}\n:hidden:\n:caption: {kind}\n\n" + "\n".join(pages) + "\n```\n"
        for kind, pages in kinds.items()
    )


def _add_navigation(_app: Sphinx, name: str, source: list[str]) -> None:
    if name == root_doc:
        source[0] += navigation(source[0])
    elif name == "adapters/CONTRACT":
        source[0] += "\n```{toctree}\n:hidden:\n:glob:\n\n*/README\n```\n"


def _begin_at_the_index(app: Sphinx, problem: Exception | None) -> None:
    if problem is None:
        page = f'<!doctype html><meta http-equiv="refresh" content="0; url={root_doc}.html"><title>Longlook</title>\n'
        (Path(app.outdir) / "index.html").write_text(page, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Take the navigation from the index, and lead from the site's address to it."""
    app.connect("source-read", _add_navigation)
    app.connect("build-finished", _begin_at_the_index)
