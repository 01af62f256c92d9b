"""`longlook atlas` and `longlook claims`: published claims beside the values that are found today.

docs/guide/claims.md describes the commands.

The package `claims` judges claims and disputes by several runs, and draws their page. The atlas runs every study for
it: `run.AtlasFolder` is its folder, `runs` decides which studies run, `content.Atlas` is the content of its page, whose
studies belong to `papers`, and `page.atlas_page` draws it with `bars` and `maps`.
"""

from typing import TYPE_CHECKING

from longlook.core import lazy

if TYPE_CHECKING:
    from longlook.instruments.atlas import command as command
else:
    __all__, __getattr__ = lazy(
        __name__,
        {},
        "command",
    )
