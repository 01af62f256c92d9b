"""`longlook bundle` and `longlook verify`: a run folder → one file, and the check of it (docs/guide/bundles.md).

`make.make_bundle` writes a bundle and `verify.verify` checks one. `layout` says what is in it, `archive` reads and
writes the file, `crate` its metadata, `rerun` runs trials again and compares digests, `programs` carries programs.
"""

from typing import TYPE_CHECKING

from longlook.core import lazy

if TYPE_CHECKING:
    from longlook.instruments.bundle import command as command
    from longlook.instruments.bundle.layout import About as About
    from longlook.instruments.bundle.layout import about_of as about_of
else:
    __all__, __getattr__ = lazy(
        __name__,
        {
            "layout": "About about_of",
        },
        "command",
    )
