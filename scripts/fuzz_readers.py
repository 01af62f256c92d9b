"""Fuzzes the readers that are written in Python (`fuzzed_readers` lists them).

`python -m scripts.fuzz_readers [READER…] [--seconds 60] [--seed 0]` changes good files at random and reads them. A
reader must refuse a file with its own error, or read it; anything else, and a reading that takes longer than LIMIT_S,
is a finding, whose file stays in fuzz/artifacts. The same seed makes the same files. `fuzz/run` calls it.
"""

import argparse
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from scripts.fuzzed_readers import READERS, Reader

ARTIFACTS = Path(__file__).parents[1] / "fuzz" / "artifacts"
LIMIT_S = 20
_MOST_CHANGES = 6
_LONGEST_SPAN = 200
_TOKENS = (
    *(b"-1", b"0", b"1e400", b"nan", b"9" * 400, b"0x7fffffffffffffff", b"1970-01-01", b"true", b"null", b'""'),
    *(b'"\\u0000"', b'"\\ud800"', b"\xff\xfe", b"\xe2\x80\xae", b"[]", b"{}", b"[[", b"]]", b"[" * 3000, b"{" * 3000),
    *(
        b'"1e9999ms"',
        b'"-5Mbit"',
        b"extends = 'demo'\n",
        b"\n",
        b'"',
        b"'",
        b"=",
        b",",
        b"\\",
        b"../" * 40,
        b"\x1b[31m",
    ),
)


@dataclass(frozen=True)
class Finding:
    """A file that a reader neither read nor refused, and what happened."""

    content: bytes
    what: str


def changed(content: bytes, draw: random.Random) -> bytes:
    """Return the content with some bytes, tokens or spans changed."""
    made = bytearray(content)
    for _ in range(draw.randint(1, _MOST_CHANGES)):
        at = draw.randrange(len(made) + 1)
        end = min(len(made), at + draw.randint(1, _LONGEST_SPAN))
        kind = draw.randrange(5)
        if kind == 0:
            made[at : at + 1] = bytes([draw.randrange(256)])
        elif kind == 1:
            made[at:at] = draw.choice(_TOKENS)
        elif kind == 2:
            made[at:end] = draw.choice(_TOKENS)
        elif kind == 3:
            made[end:end] = made[at:end]
        else:
            del made[at:end]
    return bytes(made)


def findings(reader: Reader, draw: random.Random, count: Callable[[], bool]) -> Iterator[Finding]:
    """Read changed files for as long as `count` says, and yield what should not have happened."""
    seeds = reader.seeds()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"fuzzed{reader.suffix}"
        while count():
            content = changed(draw.choice(seeds), draw)
            file.write_bytes(content)
            try:
                with _limited():
                    reader.read(file)
            except reader.refusals:
                continue
            except Exception as error:  # that is what is looked for
                yield Finding(content, f"{type(error).__name__}: {error}"[:200])


@contextmanager
def _limited() -> Iterator[None]:
    """Raise TimeoutError in a block that takes longer than LIMIT_S of the processor's time."""

    def stop(_number: int, _frame: object) -> None:
        raise TimeoutError(f"longer than {LIMIT_S} s")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def main() -> int:
    """Fuzz the readers that are named, or all, and return 1 if something was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="READER", help=f"{', '.join(READERS)}; default: all")
    parser.add_argument("--seconds", type=float, default=60, help="for each reader")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if unknown := [name for name in given.names if name not in READERS]:
        parser.error(f"unknown reader {unknown[0]}; known: {', '.join(READERS)}")
    found = 0
    for name in given.names or READERS:
        end, read = time.monotonic() + given.seconds, 0

        def another(end: float = end) -> bool:
            nonlocal read
            read += 1
            return time.monotonic() < end

        for finding in findings(READERS[name], random.Random(given.seed), another):
            found += 1
            place = ARTIFACTS / name / f"{given.seed}-{read}{READERS[name].suffix}"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(finding.content)
            sys.stdout.write(f"{place}: {finding.what}\n")
        sys.stdout.write(f"{name}: {read - 1} files, {found} findings so far\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
