"""`longlook link import` as it is called."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from longlook.core.errors import InputError
from longlook.linktool.importing import reading_of


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rtt": "a", "delay": "b"}, "--rtt and --delay are two ways"),
        ({"time": "a", "every": "1s"}, "--time and --every are two ways"),
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
