"""Measure a calibration in a guest, judge it, and keep it in the cache under a digest of everything it depends on."""

import hashlib
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from longlook.core import (
    MODULE,
    TABLE,
    MachineError,
    calibration_code_digest,
    certificate_folder,
    codec,
    file_digest,
    link_program,
    write_json,
)
from longlook.engines import GuestRun, exchange_directory, find_guest, make_bundle, run_guest
from longlook.instruments.calibrate.link.catalogue import CASES
from longlook.instruments.calibrate.link.guest import RESULT
from longlook.instruments.calibrate.link.passages import PACKETS, PASSAGES
from longlook.instruments.calibrate.link.verdicts import Row, verdicts

RAW = "packets.parquet"
_SEED = 1  # of the guest, so of netem's draws
_WALL_LIMIT_S = 300.0


@dataclass(frozen=True)
class Calibration:
    """The certificate. Digests are SHA-256; `passed`: ours is within every tolerance; seconds are real time."""

    key: str
    passed: bool
    link: str
    kernel: str
    code: str
    packets: str
    exact: bool
    wall_s: float
    cpu_s: float
    made_unix_s: int
    rows: tuple[Row, ...]
    aa: Mapping[str, Any] | None = None


def calibrate(say: Callable[[str], None], out: Path | None = None) -> Calibration:
    """Boot a guest, measure every case and judge it; write table and raw times to the cache, and to `out`.

    `say` gets a line on the progress. Raise MachineError if no guest boots or it did not finish.
    """
    guest, link = find_guest(), link_program()
    say(f"measuring {len(CASES)} cases in a guest, about a minute …")
    with exchange_directory() as exchange:
        write_json(exchange / PASSAGES, [codec.encode(case.passage) for case in CASES])
        bundle = make_bundle(MODULE, "longlook.instruments.calibrate.link.measure")
        ended = run_guest(guest, GuestRun(MODULE, bundle, (), _SEED, _WALL_LIMIT_S), exchange)
        measured = exchange / RESULT / PACKETS
        if not measured.exists():
            last = ended.console.strip().splitlines()[-20:]
            reason = ended.reason or "it switched itself off before it was finished"
            raise MachineError(f"the calibration's guest failed: {reason}", "\n".join(last) or None)
        packets = pd.read_csv(measured, dtype={"received_ns": "Int64"})
    folder = certificate_folder(link.digest, kernel := file_digest(Path(guest.kernel)))
    folder.mkdir(parents=True, exist_ok=True)
    rows = verdicts(CASES, packets)
    result = Calibration(
        key=folder.name,
        passed=all(row.passed for row in rows),
        link=link.digest,
        kernel=kernel,
        code=calibration_code_digest(),
        packets=_keep(packets, folder / RAW),
        exact=guest.exact,
        wall_s=round(ended.wall_s, 3),
        cpu_s=round(ended.cpu_s, 3),
        made_unix_s=int(time.time()),
        rows=tuple(rows),
    )
    write_json(folder / TABLE, codec.encode(result))
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        for name in (TABLE, RAW):
            shutil.copyfile(folder / name, out / name)
    return result


def keep(result: Calibration, out: Path | None) -> None:
    """Write the table again, with what was added to it."""
    for folder in (certificate_folder(result.link, result.kernel), *([out] if out else [])):
        write_json(folder / TABLE, codec.encode(result))


def _keep(packets: pd.DataFrame, path: Path) -> str:
    """Write the raw table in one step and return its digest."""
    partial = path.with_name(f".{path.name}.new")
    packets.to_parquet(partial, index=False)
    digest = hashlib.sha256(partial.read_bytes()).hexdigest()
    partial.replace(path)
    return digest
