"""Trials that ran again and differ in nothing but the moment at which their setup ended."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from longlook.core import Run
from longlook.instruments.bundle.setup_moment import setup_shift_ns
from tests.data.trials import run


def log(moment_ns: int, packets: bytes = b"packets") -> bytes:
    header = json.dumps({"clock": {"monotonic_ns": moment_ns, "unix_ns": 1_700_000_000_000_000_000 + moment_ns}})
    text = header.replace(" ", "").encode()
    return b"LLLINK2\n" + len(text).to_bytes(4, "little") + text + packets


def ran(folder: Path, setup_s: float, data: bytes, **changes: object) -> Run:
    folder.mkdir(exist_ok=True)
    (folder / "link.bin").write_bytes(data)
    digests = {"link.bin": hashlib.sha256(data).hexdigest(), "client.jsonl": "same"}
    guard = {"interval_s": 1 + setup_s, "own_share": setup_s, "late_share": 0.0}
    return replace(run(), setup_s=setup_s, artefacts=digests, guard=guard, **changes)


def test_a_later_end_of_the_setup_is_told_from_any_other_difference(tmp_path: Path) -> None:
    kept = ran(tmp_path / "kept", 0.000243968, log(1_100_261_888))
    again = ran(tmp_path / "again", 0.000251392, log(1_100_269_312))
    assert setup_shift_ns(kept, again, tmp_path / "again") == 7_424
    assert setup_shift_ns(again, kept, tmp_path / "kept") == -7_424


@pytest.mark.parametrize(
    "data",
    [
        log(1_100_269_312, b"packetz"),  # another packet
        log(1_100_269_568),  # another moment than the setup took longer
        log(1_100_269_312) * 2,
        b"LLLINK2\n",
        b"",
    ],
)
def test_a_log_that_differs_otherwise_is_another_log(data: bytes, tmp_path: Path) -> None:
    kept = ran(tmp_path / "kept", 0.000243968, log(1_100_261_888))
    again = ran(tmp_path / "again", 0.000251392, data)
    assert setup_shift_ns(kept, again, tmp_path / "again") is None


def test_another_result_is_another_result_whatever_the_log_says(tmp_path: Path) -> None:
    kept = ran(tmp_path / "kept", 0.000243968, log(1_100_261_888))
    later = log(1_100_269_312)
    for changes in ({"measure_s": 9.0}, {"reason": "another"}, {"cpu_s": {"client": 1.0}}):
        assert setup_shift_ns(kept, ran(tmp_path / "again", 0.000251392, later, **changes), tmp_path / "again") is None
    same_setup = ran(tmp_path / "again", 0.000243968, later)
    assert setup_shift_ns(kept, same_setup, tmp_path / "again") is None
