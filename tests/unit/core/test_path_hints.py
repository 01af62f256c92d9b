"""Who names a file in the place of a run folder learns which command reads it."""

import gzip
from pathlib import Path

import pytest
from typer.testing import CliRunner

from longlook.cli.commands import app
from longlook.core import path_hints
from longlook.core.errors import InputError
from longlook.core.run_folder import RunFolder
from tests.data.decoded import HEADER, document, sequence

HAR = b'{"log": {"version": "1.2", "creator": {"name": "x"}, "entries": []}}'


@pytest.mark.parametrize(
    ("name", "content", "command"),
    [
        ("a.sqlog", sequence(header=HEADER), "longlook trace show"),
        ("a.json", document(), "longlook trace show"),
        ("a.json", b'\xef\xbb\xbf{"constants": {}, "events": []}', "longlook trace show"),
        ("server.tcptrace", b"LLTCP1\n", "longlook trace show"),
        ("a", HAR, "longlook study page"),
        ("a.har.gz", gzip.compress(HAR, mtime=0), "longlook study page"),
        ("events.parquet", b"PAR1", "longlook infer"),
        ("link.bin", b"LLLINK2\n", "longlook link export"),
        ("a.toml", b"id = 1", "longlook run"),
        ("a.txt", b"hello", "longlook study page"),
        ("empty", b"", "longlook trace show"),
    ],
)
def test_content_says_which_command_reads_a_file(tmp_path: Path, name: str, content: bytes, command: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert path_hints.is_one(path)
    assert f"{command} {path}" in path_hints.reader_of(path)
    with pytest.raises(InputError, match="is not a run folder") as caught:
        RunFolder.open(path)
    assert caught.value.hint == path_hints.reader_of(path)


def test_the_folder_of_a_trial_leads_to_its_run(tmp_path: Path) -> None:
    trial = tmp_path / "run" / "trials" / "abc"
    trial.mkdir(parents=True)
    assert not path_hints.is_one(trial)
    (trial / "trial.json").write_text("{}")
    assert path_hints.is_one(trial)
    assert path_hints.reader_of(trial).startswith(f"the run folder of this trial is {tmp_path / 'run'};")


@pytest.mark.parametrize(
    ("begin", "is_trace"),
    [
        (b'{"qlog_version": "0.3"}', True),
        (b"\xd4\xc3\xb2\xa1", True),
        (gzip.compress(b"{}", mtime=0), True),
        (HAR, False),
        (b"hello", False),
    ],
)
def test_traces_are_told_from_other_files_by_how_they_begin(tmp_path: Path, begin: bytes, is_trace: bool) -> None:
    path = tmp_path / "a"
    path.write_bytes(begin)
    assert path_hints.is_trace(path) == is_trace


def test_explain_says_what_it_needs_and_what_reads_another_file(tmp_path: Path) -> None:
    path = tmp_path / "a.har"
    path.write_bytes(HAR)
    done = CliRunner().invoke(app, ["explain", str(path)])
    assert isinstance(done.exception, InputError)
    assert done.exception.message.startswith(f"{path} is none: explain needs a run folder, or a trace")
    assert done.exception.hint == path_hints.reader_of(path)
