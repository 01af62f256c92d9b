"""`longlook link import` as it is called."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from longlook.core.errors import InputError
from longlook.instruments.link.importing import reading_of


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rtt": "a", "delay": "b"}, "--rtt and --delay are two ways"),
        ({"time": "a", "every": "1s"}, "--time and --every are two ways"),
        ({"lasts": "a", "every": "1s"}, "--every and --lasts are two ways"),
        ({"separator": "pipe"}, "--separator pipe: no such separator"),
        ({"every": "soon"}, "--every"),
        ({"every": "10ns"}, "a row lasts for 1 us or longer"),
        ({"where": ("run",)}, "--where run: it must be COLUMN=VALUE"),
        ({"loss": "lost:km"}, "--loss lost:km: 'km' is no unit of it"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        reading_of("rate", **options)


def test_a_trace_is_written_once_and_never_over_a_file(tmp_path: Path) -> None:
    from longlook.cli.commands import app

    (tmp_path / "t.csv").write_text("Throughput\n5\n\n0\n")
    arguments = ["link", "import", str(tmp_path / "t.csv"), str(tmp_path / "out.csv"), "--rate", "Throughput"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert (tmp_path / "out.csv").read_text().splitlines()[1:] == ["1000000,0,5000000,0,0", "1000000,0,1000,0,0"]
    again = CliRunner().invoke(app, arguments)
    assert again.exit_code != 0
    assert isinstance(again.exception, InputError)
    assert "is there already" in again.exception.message


def test_what_cannot_be_is_said_on_the_terminal_and_to_machines(tmp_path: Path) -> None:
    from longlook.cli.commands import app

    (tmp_path / "t.csv").write_text("0 50000\n1 60000\n")
    arguments = ["link", "import", str(tmp_path / "t.csv"), "--no-header", "--rate", "2", "--time", "1"]
    done = CliRunner().invoke(app, [*arguments, str(tmp_path / "a.csv")])
    assert "implausible: half of the rates are above 55 Gbit/s: is the unit of --rate right? (rate_too_high)" in (
        done.output
    )
    done = CliRunner().invoke(app, [*arguments, str(tmp_path / "b.csv"), "--json"])
    facts = json.loads(done.output)
    assert (facts["rows"], facts["lasts_us"], facts["settings"]) == (2, 2_000_000, ["rate"])
    assert [found["check"] for found in facts["implausible"]] == ["rate_too_high"]
