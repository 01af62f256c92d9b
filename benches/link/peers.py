"""Other emulators in the link's place, for the same probe: Rattan and Mahimahi, if they are installed.

Rattan is a crate: `cargo install --root FOLDER rattan`, then LONGLOOK_BENCH_RATTAN=FOLDER/bin/rattan. Mahimahi is in
Debian 11's archive (no later one has it): unpack the package `mahimahi`, make its programs setuid root
(`chmod u+s`), then LONGLOOK_BENCH_MAHIMAHI=FOLDER/usr/bin. Both run a command behind the link that they emulate; the
receiver stands outside, in a namespace of its own.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from longlook.core import link_program
from longlook.instruments.calibrate.link.probe import Arrivals, ProbeProcess, Receiver
from longlook.lab import Namespace

RATTAN = os.environ.get("LONGLOOK_BENCH_RATTAN") or shutil.which("rattan")
MAHIMAHI = os.environ.get("LONGLOOK_BENCH_MAHIMAHI")
FIFO_PRIORITY = 50
NOBODY = "65534"
_LIMIT_S = 60.0

# Mahimahi sets up address translation and a name server before it runs anything. The probe needs neither, so where
# they are missing two stand-ins do; Mahimahi looks whether port 53 is taken.
_STAND_INS = {
    "iptables": "#!/bin/sh\nexit 0\n",
    "dnsmasq": f"#!{sys.executable}\nimport socket, time\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
    's.bind(("0.0.0.0", 53))\ntime.sleep(1e6)\n',
}
_SETUP = """
mount --make-rprivate /
mount -t tmpfs none "$1"
mkdir "$1/upper" "$1/work"
cp "$1.stand-ins/"* "$1/upper/"
mount -t overlay overlay -o "lowerdir=/usr/sbin,upperdir=$1/upper,workdir=$1/work" /usr/sbin
echo 1 > /proc/sys/net/ipv4/ip_forward
shift
exec "$@"
"""


@dataclass(frozen=True)
class Shape:
    """The impairment of the way to the receiver; 0: none."""

    delay_ms: int = 0
    rate_mbit: int = 0


class Peer:
    """A running emulator with a folder for its files, in a namespace of its own; a context manager."""

    def __init__(self, name: str, folder: Path, *, fifo: bool) -> None:
        self._name, self._folder, self._fifo = name, folder, fifo
        self._stack = ExitStack()
        # A sender without root's privilege, which Mahimahi demands, still needs its real-time priority, and cubic.
        self._probe = folder / "probe"

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self.outside = stack.enter_context(Namespace())
            self._folder.chmod(0o755)
            shutil.copyfile(link_program().path, self._probe)
            self._probe.chmod(0o755)
            subprocess.run(["setcap", "cap_sys_nice,cap_net_admin+ep", str(self._probe)], check=False)
            stand_ins = self._folder / "sbin.stand-ins"
            stand_ins.mkdir()
            (self._folder / "sbin").mkdir()
            for name, text in _STAND_INS.items():
                (stand_ins / name).write_text(text)
                (stand_ins / name).chmod(0o755)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def send(self, shape: Shape, arguments: Sequence[str], drain_s: float) -> Arrivals:
        """Send the probe's datagrams through the link and return the arrivals."""
        with Receiver(self.outside, self._folder) as receiver:
            self._run(shape, ["send", *arguments], f"; sleep {drain_s}")
        return receiver.arrivals

    def stream_bps(self, seconds: float) -> float:
        """Return the rate of one TCP connection in bit/s through the link without impairments."""
        taking = ProbeProcess(self.outside, ["stream-receive"])
        try:
            taking.read_event("ready")
            self._run(Shape(), ["stream-send", "--seconds", str(seconds)], "")
            return float(taking.read_event("received")["bits_per_second"])
        finally:
            taking.end()

    def _run(self, shape: Shape, arguments: Sequence[str], after: str) -> None:
        base = "${RATTAN_BASE:-$MAHIMAHI_BASE}"
        inner = ["sh", "-c", f'{self._probe} probe {" ".join(arguments)} --to "{base}:9"{after}']
        command = [*(["chrt", "-f", str(FIFO_PRIORITY)] if self._fifo else []), *self._wrapped(shape, inner)]
        log = self._folder / "peer.log"
        with self.outside.inside(), log.open("w") as out:
            done = subprocess.run(command, stdout=out, stderr=out, check=False, timeout=_LIMIT_S)
        if done.returncode != 0:
            raise OSError(f"{self._name} failed: {log.read_text()[-300:]}")

    def _wrapped(self, shape: Shape, inner: Sequence[str]) -> list[str]:
        if self._name == "rattan":
            delay = ["--uplink-delay", f"{shape.delay_ms}ms"] if shape.delay_ms else []
            rate = ["--uplink-bandwidth", f"{shape.rate_mbit}Mbps", "--uplink-queue", "infinite"]
            return [str(RATTAN), "link", *delay, *(rate if shape.rate_mbit else []), "--", *inner]
        programs = Path(str(MAHIMAHI))
        shell = [str(programs / "mm-delay"), str(shape.delay_ms)]
        if shape.rate_mbit:
            trace = self._folder / "trace"
            trace.write_text(opportunities(shape.rate_mbit))
            shell = [str(programs / "mm-link"), str(trace), str(trace), "--"]
        drop = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        overlay = ["unshare", "-m", "sh", "-ec", _SETUP, "sh", str(self._folder / "sbin")]
        return [*overlay, *drop, *shell, *inner]


def opportunities(mbit: int) -> str:
    """Return Mahimahi's trace of a constant rate: the milliseconds at which 1500 bytes may leave."""
    period_ms = 12
    return "".join(f"{max(1, number * period_ms // mbit)}\n" for number in range(1, mbit + 1))
