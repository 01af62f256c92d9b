"""Whether the user trusts the programs under test: they then run also if nothing confines them."""

import os

TRUST = "LONGLOOK_TRUST_PROGRAMS"
TRUST_HINT = f"--trust-programs (or {TRUST}=1), if you would run these programs as yourself"
_YES = ("1", "yes", "true")


def programs_are_trusted() -> bool:
    """Return whether LONGLOOK_TRUST_PROGRAMS says so."""
    return os.environ.get(TRUST, "").lower() in _YES


def trust_programs() -> None:
    """Say so for this process and for all that it starts."""
    os.environ[TRUST] = "1"
