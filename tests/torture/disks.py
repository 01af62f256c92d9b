"""Disks that fill up in the middle of a run: one sentence, and the run goes on where there is room again."""

import json
import random
import shlex

from tests.support.command_line import LONGLOOK
from tests.torture.kills import reference, results_of, written
from tests.torture.place import Place

_SCRIPT = """
mount -t tmpfs -o size={kib}k tmpfs {disk} || exit 99
{run} --out {out} >{first_log} 2>&1
code=$?
mount -o remount,size=256m {disk}
if [ -e {out}/manifest.json ]; then way=--resume; else rm -rf {out}; way=--out; fi
{run} $way {out} >{second_log} 2>&1
echo "[$code, $?]" >{codes}
cp -r {out} {kept} 2>/dev/null
true
"""
_SAYS_WHY = ("full", "MiB are free below", "No space left on device")


def full_disk(place: Place, draw: random.Random) -> None:
    """Run into a full disk, of run folder or of scratch files, and go on after it has been made larger."""
    study = written(place)
    kib = int(2 ** draw.uniform(4, 12))
    what = draw.choice(["run folder", "TMPDIR", "cache of trials"])
    place.note(what, f"{kib} KiB")
    disk, kept = place.path / "disk", place.path / "kept"
    disk.mkdir()
    out = disk / "out" if what == "run folder" else place.path / "out"
    moved = {"TMPDIR": f"TMPDIR={disk}", "cache of trials": f"LONGLOOK_TRIALS={disk}"}.get(what, "")
    words = {
        "kib": kib,
        "disk": disk,
        "out": out,
        "kept": kept,
        "first_log": place.path / "first.log",
        "second_log": place.path / "second.log",
        "codes": place.path / "codes.json",
    }
    quoted = {name: shlex.quote(str(word)) for name, word in words.items()}
    run = shlex.join([*LONGLOOK, "run", str(study), "--jobs", "2"])
    script = _SCRIPT.format(run=f"env {moved} {run}" if moved else run, **quoted)
    place.script(script, prefix=("unshare", "--mount", "--propagation=private"))
    first, second = json.loads((place.path / "codes.json").read_text())
    said = (place.path / "first.log").read_text() + (place.path / "second.log").read_text()
    assert "Traceback (most recent call last)" not in said, said[-1500:]
    assert first in (0, 3), f"exit code {first}: {said[-1500:]}"
    assert first == 0 or any(word in said for word in _SAYS_WHY), said[-1500:]
    assert second == 0, f"with enough room: exit code {second}: {said[-1500:]}"
    assert results_of(kept) == reference()[0], f"results {results_of(kept)}"
    place.note("it was enough" if first == 0 else "full")
    place.expect_calm()
