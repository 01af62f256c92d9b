"""What a browser says of itself on its own pages: how it was started, and whether it opens connections unasked."""

import asyncio

from chromium_driver.cdp import CallError, Cdp
from chromium_driver.remote.errors import ElsewhereError
from chromium_driver.tab import Tab

_POLL_S = 0.02
_COMMAND_LINE = "chrome://version", "document.getElementById('command_line')?.textContent"
_PREDICTION = (
    "chrome://prefs-internals",
    r"/\"network_prediction_options\":\s*{[^}]*\"value\":\s*(\d+)/.exec(document.documentElement.textContent)?.[1]",
)
_NEVER = "2"
"""NetworkPredictionOptions::kDisabled of Chromium: Settings, Privacy and security, Preload pages, No preloading."""


async def command_line(cdp: Cdp) -> str:
    """Return the browser's command line, "" where it does not show it."""
    return await _read(cdp, *_COMMAND_LINE)


async def check_settings(cdp: Cdp) -> None:
    """Raise ElsewhereError where the browser opens connections before a page asks for them.

    A browser without the page that would tell passes: each load is checked too.
    """
    if await _read(cdp, *_PREDICTION) not in ("", _NEVER):
        raise ElsewhereError(
            "the browser opens connections before a page asks for them: "
            "turn this off in its settings (Privacy and security, Preload pages, No preloading)"
        )


async def _read(cdp: Cdp, page: str, expression: str) -> str:
    """Return what an expression finds in a page of the browser's own, "" for nothing or where there is no such page."""
    tab = await Tab.open(cdp, None, page)
    try:
        while True:
            if (text := await _evaluate(tab, expression)) is not None:
                return text
            await asyncio.sleep(_POLL_S)
    finally:
        await tab.close()


async def _evaluate(tab: Tab, expression: str) -> str | None:
    loaded = "document.readyState === 'complete' && location.protocol.startsWith('chrome')"
    try:
        found = await tab.evaluate(f"{loaded} ? String({expression} ?? '').trim() : null")
    except CallError:  # between two documents
        return None
    return None if found is None else str(found)
