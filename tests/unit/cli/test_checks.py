"""`longlook doctor`: what a machine reads of it."""

import json

from typer.testing import CliRunner

from longlook.cli import app


def test_every_need_that_is_not_met_has_a_fix() -> None:
    answer = CliRunner().invoke(app, ["doctor", "--json"])
    needs = json.loads(answer.stdout)
    assert needs
    assert all(need.keys() == {"name", "met", "detail", "fix", "required"} for need in needs)
    assert all(need["fix"] for need in needs if not need["met"])
    assert answer.exit_code == (3 if any(need["required"] and not need["met"] for need in needs) else 0)
