"""Further links of a trial, beside its main one: settings `behind.rate` and so on make them as `network.rate` makes it.

    behind    behind the middle of the path: between it and the server
    second    a second path between the ends

Each has every setting of the network under its own name. A link is there where one of its settings is.
"""

from collections.abc import Callable, Iterable, Mapping

from longlook.core.links import BESIDE_MAIN
from longlook.core.model import Link, Scalar
from longlook.core.problems import SettingError

_MAIN = "network."


def link_of(key: str) -> str:
    """Return the name of the further link that a setting belongs to, "" where it belongs to none."""
    name, dot, _ = key.partition(".")
    return name if dot and name in BESIDE_MAIN else ""


def names_in(keys: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the further links to which any of these settings belongs, in the order of BESIDE_MAIN."""
    found = {link_of(key) for key in keys}
    return tuple(name for name in BESIDE_MAIN if name in found)


def as_main(key: str) -> str:
    """Return the key of the main link's setting that a further link's is like: `network.rate` for `behind.rate`."""
    name = link_of(key)
    return _MAIN + key.removeprefix(f"{name}.") if name else key


def as_further(name: str, key: str) -> str:
    """Return the key of a further link's setting that is like the main link's; other keys stay."""
    return f"{name}.{key.removeprefix(_MAIN)}" if name and key.startswith(_MAIN) else key


def settings_of(name: str, settings: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Return the settings of a further link as if it were the main one, with those that belong to no link."""
    if not name:
        return dict(settings)
    own = {as_main(key): value for key, value in settings.items() if link_of(key) == name}
    others = {key: value for key, value in settings.items() if not key.startswith(_MAIN) and not link_of(key)}
    return {**others, **own}


def error_of(name: str, error: SettingError) -> SettingError:
    """Return an error about the main link's settings as one about those of a further link."""
    message = error.message.replace(_MAIN, f"{name}.")
    return SettingError(as_further(name, error.key), message, absent=error.absent)


def links(settings: Mapping[str, Scalar], make: Callable[[Mapping[str, Scalar]], Link]) -> dict[str, Link]:
    """Return every further link of settings; `make` makes one as `settings.link` makes the main one.

    Raise SettingError, with the further link's own key, where settings make no path.
    """
    found = {}
    for name in names_in(settings):
        try:
            found[name] = make(settings_of(name, settings))
        except SettingError as error:
            raise error_of(name, error) from error
    return found
