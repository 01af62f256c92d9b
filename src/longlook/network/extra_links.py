"""Further links of a trial, beside its main one: settings `behind.rate` and so on make them as `network.rate` makes it.

    behind    behind the middle of the path: between it and the server
    second    a second path between the ends

Each has every setting of the network under its own name. A link is there if one of its settings is.
"""

from collections.abc import Callable, Mapping

from longlook.core import MAIN_SETTINGS, Link, Scalar, SettingError, as_further, as_main, link_of, names_in


def settings_of(name: str, settings: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Return the settings of a further link as if it were the main one, with the settings that belong to no link."""
    if not name:
        return dict(settings)
    own = {as_main(key): value for key, value in settings.items() if link_of(key) == name}
    others = {key: value for key, value in settings.items() if not key.startswith(MAIN_SETTINGS) and not link_of(key)}
    return {**others, **own}


def error_of(name: str, error: SettingError) -> SettingError:
    """Return an error about the main link's settings as an error about the settings of a further link."""
    message = error.message.replace(MAIN_SETTINGS, f"{name}.")
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
