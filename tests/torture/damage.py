"""Files of finished runs that are damaged: every command that reads them ends in a sentence, and none believes them."""

import os
import random
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.torture.kills import results_of, written
from tests.torture.place import Place


def _change_a_byte(path: Path, draw: random.Random) -> None:
    data = bytearray(path.read_bytes()) or bytearray(1)
    data[draw.randrange(len(data))] ^= draw.randrange(1, 256)
    path.write_bytes(data)


def _cut(path: Path, draw: random.Random) -> None:
    os.truncate(path, draw.randrange(max(1, path.stat().st_size)))


def _empty(path: Path, _: random.Random) -> None:
    os.truncate(path, 0)


def _remove(path: Path, _: random.Random) -> None:
    path.unlink()


def _put_a_folder(path: Path, _: random.Random) -> None:
    path.unlink()
    path.mkdir()


def _append(path: Path, draw: random.Random) -> None:
    path.write_bytes(path.read_bytes() + draw.randbytes(100))


def _replace(path: Path, draw: random.Random) -> None:
    path.write_bytes(draw.randbytes(path.stat().st_size))


def _take_another_trials(path: Path, draw: random.Random) -> None:
    others = [other for other in path.parent.parent.glob(f"*/{path.name}") if other != path and other.is_file()]
    if others:
        path.write_bytes(draw.choice(sorted(others)).read_bytes())


DAMAGES: Mapping[str, Callable[[Path, random.Random], None]] = {
    "a byte changed": _change_a_byte,
    "cut short": _cut,
    "emptied": _empty,
    "removed": _remove,
    "a folder in its place": _put_a_folder,
    "more behind its end": _append,
    "other bytes": _replace,
    "that of another trial": _take_another_trials,
}

COMMANDS: Mapping[str, Callable[[Path], tuple[str, ...]]] = {
    "report": lambda out: ("report", str(out)),
    "resume": lambda out: ("run", str(out.parent / "study.toml"), "--resume", str(out)),
    "verify": lambda out: ("run", str(out.parent / "study.toml"), "--resume", str(out), "--verify", "1"),
    "claims": lambda out: ("claims", str(out)),
    "explain": lambda out: ("explain", str(out), "--budget", "0"),
    "har": lambda out: ("trace", "har", str(out), "--out", str(out.parent / "hars")),
}


def damaged_file(place: Place, draw: random.Random) -> None:
    """Damage one file of a finished run, and give the run to a command."""
    study, out = written(place), place.path / "out"
    place.command("run", str(study), "--out", str(out), "--jobs", "2").expect(0)
    before = results_of(out)
    files = sorted(path for path in out.rglob("*") if path.is_file() and "report" not in path.relative_to(out).parts)
    victim = draw.choice(files)
    damage, command = draw.choice(list(DAMAGES)), draw.choice(list(COMMANDS))
    place.note(damage, command, victim.relative_to(out).name)
    sound = victim.read_bytes()
    DAMAGES[damage](victim, draw)
    untouched = victim.is_file() and victim.read_bytes() == sound
    ended = place.command(*COMMANDS[command](out)).expect(0, 1, 2, 3)
    believed = ended.code == 0 and not untouched and victim.name not in ended.output + ended.errors
    if believed and (out / "manifest.json").is_file():
        assert results_of(out) == before, f"other results, and nothing said: {ended.tail}"
    shutil.rmtree(out)
    place.expect_clean()
