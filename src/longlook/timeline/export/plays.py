"""A played video as its viewer saw it, as a table over time and as the input of ITU-T P.1203 (docs/reference/video.md).

Source of the second format: ITU-T P.1203 (2017), I.GEN, I.11, I.13 and I.23 for mode 0, in the JSON of its authors'
program: https://github.com/itu-p1203/itu-p1203. The program is for research that is not commercial and may not be
passed on, so it is no part of Longlook; `score` calls the user's own.
"""

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from longlook.core import PICTURES, CsvWriter, InputError, MachineError
from longlook.timeline.export.trials import timeline_of
from longlook.timeline.playback import Playback

COLUMNS = ("time_s", "event", "segment", "rung", "bitrate_bps", "position_s", "buffer_s")
FRAMES_PER_S = 30.0
DISPLAY = "1920x1080"
PROGRAM = "p1203-standalone"
_LONGEST_S = 300


def play_of(folder: Path) -> Playback:
    """Return the play of a trial's folder. Raise InputError if it has none that came to its end."""
    play = Playback.of(timeline_of(folder))
    if play is None:
        raise InputError(
            f"{folder}: no video was played to its end", "name a trial of workload video, with one player, that is ok"
        )
    return play


def write_table(play: Playback, out: Path) -> int:
    """Write COLUMNS as CSV, one row for each change, in order; return how many. Time 0 is the manifest's request.

    Between two rows the buffer falls by the time that passes while the video plays, and stays while it does not.
    """
    rows = list(_rows(play))
    with _writing(out) as file:
        CsvWriter(file).writerows([COLUMNS, *rows])
    return len(rows)


def write_p1203(play: Playback, out: Path) -> int:
    """Write the input of P.1203 as JSON; return its number of segments. Raise InputError for rungs without a size."""
    report = p1203(play)
    with _writing(out) as file:
        file.write(json.dumps(report, indent=1, allow_nan=False) + "\n")
    return len(report["I13"]["segments"])


def p1203(play: Playback) -> dict[str, Any]:
    """Return the input of P.1203, mode 0: what was shown, and the wait for the start and stalls in media time.

    A rung's bitrate is all picture: sound is part of it, so I.11 is empty. Raise InputError if nothing was shown, and
    for a rung whose name stands for no size of picture.
    """
    shown = play.shown()
    if play.started_ns is None or not shown:
        raise InputError("nothing of this video was ever shown", "P.1203 judges what is seen: name another trial")
    for rung in play.rungs_bps:
        if rung not in PICTURES:
            raise InputError(
                f"rung {rung!r} stands for no size of picture, which P.1203 needs",
                f'name rungs {", ".join(PICTURES)}, with bitrates of your own: ladder = "medium=0.7Mbit"',
            )
    segments = [
        {
            "codec": "h264",
            "start": round(segment.number * play.segment_s, 9),
            "duration": round(seconds, 9),
            "resolution": "{}x{}".format(*PICTURES[segment.rung]),
            "bitrate": play.rungs_bps[segment.rung] / 1000,
            "fps": FRAMES_PER_S,
        }
        for segment, seconds in shown
    ]
    waits = [[0.0, (play.started_ns - play.began_ns) / 1e9]]
    played_ns = 0
    for (begin_ns, end_ns), (stall_ns, resumed_ns) in zip(play.stretches_ns(), play.stalls_ns, strict=False):
        played_ns += end_ns - begin_ns
        waits.append([played_ns / 1e9, (resumed_ns - stall_ns) / 1e9])
    return {
        "IGen": {"displaySize": DISPLAY, "device": "pc"},
        "I11": {"streamId": 1, "segments": []},
        "I13": {"streamId": 1, "segments": segments},
        "I23": {"streamId": 1, "stalling": waits},
    }


def score(report: Path) -> Mapping[str, Any]:
    """Return the scores of a report by the user's own program of P.1203: O23, O35, O46 and more.

    Raise MachineError if it is not installed or does not answer.
    """
    program = shutil.which(PROGRAM)
    if program is None:
        raise MachineError(
            f"{PROGRAM} is not on PATH",
            "install it yourself if its licence (research, not commercial) allows your use: docs/reference/video.md",
        )
    try:
        done = subprocess.run(
            [program, str(report)],
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_LONGEST_S,
        )
        found: Mapping[str, Any] = json.loads(done.stdout)[str(report)]
    except (OSError, subprocess.TimeoutExpired, ValueError, LookupError, TypeError) as error:
        raise MachineError(
            f"{PROGRAM} gave no scores of {report}: {error}",
            f"run it once by hand, and accept its terms if you can: {PROGRAM} {report}",
        ) from error
    return found


def _rows(play: Playback) -> Iterator[tuple[Any, ...]]:
    changes: list[tuple[int, int, str, int | None, str | None]] = []
    for segment in play.segments:
        changes.append((segment.requested_ns, 1, "requested", segment.number, segment.rung))
        changes.append((segment.arrived_ns, 0, "arrived", segment.number, segment.rung))
    if play.started_ns is not None:
        changes.append((play.started_ns, 2, "started", None, None))
    for begin_ns, end_ns in play.stalls_ns:
        changes.append((begin_ns, 2, "stalled", None, None))
        if end_ns < play.ended_ns:
            changes.append((end_ns, 2, "resumed", None, None))
    changes.append((play.ended_ns, 3, "ended", None, None))
    loaded_s = 0.0
    for at_ns, _, event, number, rung in sorted(changes, key=lambda change: change[:2]):
        loaded_s += play.segment_s if event == "arrived" else 0
        position_s = sum(max(0, min(at_ns, end) - begin) for begin, end in play.stretches_ns()) / 1e9
        yield (
            f"{(at_ns - play.began_ns) / 1e9:.9f}",
            event,
            "" if number is None else number,
            rung or "",
            "" if rung is None else play.rungs_bps[rung],
            f"{position_s:.9f}",
            f"{max(0.0, loaded_s - position_s):.9f}",
        )


def _writing(out: Path) -> Any:
    try:
        return out.open("w", encoding="utf-8", newline="")
    except OSError as error:
        raise InputError(f"--out {out}: cannot be written: {error.strerror}", "name another place") from error
