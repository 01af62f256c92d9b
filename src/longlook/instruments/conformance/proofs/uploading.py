"""The proof of what a server makes of an upload."""

from collections.abc import Mapping

from longlook.core import Workload
from longlook.instruments.conformance.checks import Check, CheckFinding, verdict
from longlook.instruments.conformance.evidence import Seen
from longlook.instruments.conformance.proofs.ask import Ask

_BYTES = 200_000
_TOO_LARGE = 413
_WHOLE = "whole"


def upload_answer(ask: Ask) -> Check:
    """Send the same upload to a server with each value, and read what the client got for it."""

    def judge(seen: Mapping[str, Seen]) -> CheckFinding:
        found = {name: _got(each) for name, each in seen.items()}
        text = "; ".join(f"{name}: {got}" for name, got in found.items())
        wanted = {_WHOLE: _all_of(_BYTES), "refused": f"HTTP {_TOO_LARGE}", "early": "a part", "reset": "no answer"}
        return verdict(found == {name: wanted[str(name)] for name in found}, text)

    values = {str(choice): None if choice == _WHOLE else choice for choice in ask.knob.choices}
    wants = {
        name: ask.want(
            {} if value is None else {ask.name: value}, workload=Workload("upload", {"object_bytes": _BYTES})
        )
        for name, value in values.items()
    }
    return ask.check(wants, judge)


def _got(seen: Seen) -> str:
    """Return what the client's line says of the server's answer."""
    for line in seen.events("client", "object"):
        arrived, status = line.get("uploaded_bytes"), line.get("status")
        if arrived is not None:
            return _all_of(_BYTES) if seen.ok and arrived == _BYTES else "a part"
        return "no answer" if status is None else f"HTTP {status}"
    return seen.why


def _all_of(size_bytes: int) -> str:
    return f"all of {size_bytes} bytes"


PROOFS = {"upload_answer": upload_answer}
