"""The list of what was downloaded."""

from io import StringIO

from syrupy.assertion import SnapshotAssertion

from longlook.cli.checks import downloads
from longlook.core.provenance import Component, Made
from longlook.terminal.console import PlainConsole


def test_every_component_has_a_digest_and_somebody_who_vouches_or_says_that_nobody_does(
    snapshot: SnapshotAssertion,
) -> None:
    parts = (
        Component("cargo", "ring", "0.17.14", (f"sha256:{'a' * 64}",), "Cargo.lock in the repository"),
        Component("pypi", "numpy[x]", "2.4.6", ("sha256:1", "sha256:2"), "requirements.lock in the repository"),
        Component("deb", "chromium", "156", (), "Debian's signed Release"),
    )
    made = [
        Made("quinn@1", "1", "1" * 64, "rustc 1.95\ncargo 1.95", parts, ("quinn@1 has [bold]b",)),
        Made("own@1", "1", "2" * 64, "", None),
    ]
    out = StringIO()
    for part in downloads(made):
        PlainConsole(file=out, width=200).print(part)
    text = out.getvalue()
    assert text.splitlines()[0].startswith("quinn@1 1, sha256 1111")
    assert f"sha256:{'a' * 64}" in text
    assert "one of 2 sha256" in text and "numpy[x]" in text
    assert "not recorded" in text
    assert text == snapshot
