"""A phone that is none: a namespace of its own with a browser, attached to another that stands for this machine.

The browser's DevTools port is open on the phone's loopback alone, as on a real one; a relay of single bytes stands for
`adb forward`.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from longlook.lab.linux import system
from longlook.lab.linux.namespace import Namespace
from longlook.stacks.chromium import find_browser
from tests.support.link_host import LinkHost, wait_for

HOST_ADDRESS, PHONE_ADDRESS, PORT = "10.77.0.1", "10.77.0.2", 9222
ENDPOINT = f"{PHONE_ADDRESS}:{PORT}"
_ON_LOOPBACK = 9223
_DEVICE = "wlan0"
_CLONE_NEWTIME, _CLOCK_AHEAD_S = 0x80, 86_400

_RELAY = """
import asyncio, sys
async def pump(reader, writer):
    while data := await reader.read(1 << 16):
        writer.write(data); await writer.drain()
    writer.close()
async def serve(reader, writer):
    there, back = await asyncio.open_connection("127.0.0.1", int(sys.argv[2]))
    await asyncio.gather(pump(reader, back), pump(there, writer), return_exceptions=True)
async def main():
    server = await asyncio.start_server(serve, sys.argv[1], int(sys.argv[3]))
    await server.serve_forever()
asyncio.run(main())
"""


class Phone:
    """The phone's namespace, and what runs in it. `host` is the namespace that it is attached to."""

    def __init__(self, host: LinkHost, namespace: Namespace) -> None:
        self.host, self.namespace = host, namespace
        self._profile = Path(tempfile.mkdtemp(prefix="phone-", dir="/tmp"))
        self._running: list[subprocess.Popen[bytes]] = []
        self._attach()

    def start_browser(self, flags: Sequence[str], *, preloads: bool = False) -> None:
        """Start a browser with these flags, and the relay to its port; the browser's clock is a day ahead of ours."""
        settings = self._profile / "Default" / "Preferences"
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text(json.dumps({} if preloads else {"net": {"network_prediction_options": 2}}))
        self._start(
            str(find_browser()),
            "--headless=new",
            "--no-sandbox",
            "--no-first-run",
            "--disable-gpu",
            "--disable-breakpad",
            f"--user-data-dir={self._profile}",
            f"--remote-debugging-port={_ON_LOOPBACK}",
            *flags,
            "about:blank",
        )
        wait_for(lambda: self._listens(_ON_LOOPBACK), 30)
        self.forward()

    def forward(self) -> None:
        """Make the browser's port reachable, as `adb forward` does."""
        self._start(sys.executable, "-c", _RELAY, PHONE_ADDRESS, str(_ON_LOOPBACK), str(PORT))
        wait_for(lambda: self._listens(PORT), 30)

    def vanish(self) -> None:
        """Unplug the phone: no packet passes any more, and nothing says so."""
        index = self.namespace.index("up0")
        self.namespace.netlink.link("set", index=index, state="down")

    def end_programs(self) -> None:
        """End the browser and the relay, as a phone does that is short of memory."""
        for process in self._running:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self._running.clear()

    def close(self) -> None:
        self.end_programs()
        shutil.rmtree(self._profile, ignore_errors=True)

    def _start(self, *argv: str) -> None:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=self._enter,  # noqa: PLW1509
        )
        self._running.append(process)

    def _enter(self) -> None:
        system.set_namespace(self.namespace.descriptor, system.CLONE_NEWNET)
        system.unshare(_CLONE_NEWTIME)
        Path("/proc/self/timens_offsets").write_text(f"monotonic {_CLOCK_AHEAD_S} 0\n")

    def _listens(self, port: int) -> bool:
        with self.namespace.inside():
            return f":{port:04X} 00000000:0000 0A" in Path("/proc/thread-self/net/tcp").read_text()

    def _attach(self) -> None:
        host = self.host.namespace
        host.netlink.link(
            "add", ifname=_DEVICE, kind="veth", peer={"ifname": "up0", "net_ns_fd": self.namespace.descriptor}
        )
        for here, device, address in ((host, _DEVICE, HOST_ADDRESS), (self.namespace, "up0", PHONE_ADDRESS)):
            here.netlink.addr("add", index=here.index(device), address=address, prefixlen=24)
            here.netlink.link("set", index=here.index(device), state="up")
        self.namespace.netlink.route("add", dst="default", gateway=HOST_ADDRESS)
        with host.inside():
            (Path("/proc/sys/net/ipv4/conf") / _DEVICE / "forwarding").write_text("1")


@contextmanager
def attached(host: LinkHost) -> Iterator[Phone]:
    """A phone without a browser yet, attached to a host that forwards for it and knows where its DevTools port is."""
    host.env["LONGLOOK_PHONES"] = f"phone={ENDPOINT}"
    with Namespace() as namespace:
        phone = Phone(host, namespace)
        try:
            yield phone
        finally:
            phone.close()
