"""One headless Chromium: its process, its scratch folder and its DevTools connection."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from longlook_adapter.errors import DriverError
from longlook_adapter.processes import die_with_parent

from chromium_driver.cdp import CallError, Cdp
from chromium_driver.flags import PREFERENCES, Kind, Target, arguments, asking

START_LIMIT_S = 30.0
CLOSE_LIMIT_S = 5.0
POLL_S = 0.005

IRRELEVANT = ("/dbus/", "/crashpad/")
"""Messages with these words do not explain why a browser died: there is no message bus here."""

LONGEST_SOCKET_PATH = 107
SOCKET_IN_SCRATCH = "/org.chromium.Chromium.XXXXXX/SingletonSocket"
"""The longest path of a Unix socket that Chromium makes in its temporary folder; it aborts where that is too long."""


class Browser:
    """A running browser; `died` completes with the reason when its process ends."""

    def __init__(self, program: str, target: Target, kind: Kind, resolver_port: int) -> None:
        self.target = target
        self.version = ""
        self.died: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._scratch = _scratch_folder()
        self._profile = self._scratch / "profile"
        self._cdp: Cdp | None = None
        (self._profile / "Default").mkdir(parents=True)
        (self._profile / "Default" / "Preferences").write_text(json.dumps(PREFERENCES))
        if kind is Kind.ASKING:
            (self._profile / "Local State").write_text(json.dumps(asking(resolver_port)))
        argv = [program, *arguments(target, str(self._profile), kind)]
        try:
            self._process = self._spawn(argv)
        except OSError as error:
            shutil.rmtree(self._scratch, ignore_errors=True)
            raise DriverError(f"cannot start {program}: {error.strerror}") from error
        self._handle = os.pidfd_open(self._process.pid)
        asyncio.get_running_loop().add_reader(self._handle, self._on_exit)

    @classmethod
    async def launch(cls, program: str, target: Target, kind: Kind, resolver_port: int) -> "Browser":
        """Start a browser and wait until it answers; DriverError with the reason where it does not."""
        browser = cls(program, target, kind, resolver_port)
        try:
            async with asyncio.timeout(START_LIMIT_S):
                browser._cdp = await Cdp.connect(await browser._devtools_url())
                answer = await browser.cdp.call("Browser.getVersion")
                await browser.cdp.call("Browser.setDownloadBehavior", behavior="deny")
        except TimeoutError as error:
            await browser.close()
            raise DriverError(f"the browser does not answer {START_LIMIT_S:g} s after its start") from error
        except BaseException:
            await browser.close()
            raise
        browser.version = answer["product"].rpartition("/")[2]
        return browser

    @property
    def cdp(self) -> Cdp:
        """Return the DevTools connection."""
        if self._cdp is None:
            raise DriverError("the browser has no DevTools connection yet")
        return self._cdp

    async def close(self) -> None:
        """End the browser, gently if it listens, and remove its folder."""
        if self._cdp is not None and not self.died.done():
            with contextlib.suppress(TimeoutError, DriverError, CallError):
                async with asyncio.timeout(CLOSE_LIMIT_S):
                    await self._cdp.call("Browser.close")
                    await asyncio.shield(self.died)
        with contextlib.suppress(ProcessLookupError):  # the group outlives its leader where a renderer hangs
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._stop_watching()
        if self._cdp is not None:
            await self._cdp.close()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def _spawn(self, argv: list[str]) -> subprocess.Popen[bytes]:
        folders = ("HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR")
        with (self._scratch / "stderr").open("wb") as stderr:
            return subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                env={**os.environ, **dict.fromkeys(folders, str(self._scratch))},
                start_new_session=True,
                preexec_fn=die_with_parent,  # noqa: PLW1509 - this program has one thread
            )

    async def _devtools_url(self) -> str:
        """Return the websocket's address, from the file that the browser writes when it listens."""
        file = self._profile / "DevToolsActivePort"
        while not self.died.done():
            with contextlib.suppress(FileNotFoundError):
                port, _, path = file.read_text().partition("\n")
                if path:  # written whole: the path comes last
                    return f"ws://127.0.0.1:{port}{path.strip()}"
            await asyncio.wait({self.died}, timeout=POLL_S)
        raise DriverError(f"{self.died.result()}{self._last_messages()}")

    def _on_exit(self) -> None:
        code = self._process.poll()
        if code is None:
            return
        self._stop_watching()
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"exited with {code}"
        if not self.died.done():
            self.died.set_result(f"the browser {how}")

    def _stop_watching(self) -> None:
        if self._handle >= 0:
            asyncio.get_running_loop().remove_reader(self._handle)
            os.close(self._handle)
            self._handle = -1

    def _last_messages(self) -> str:
        lines = (self._scratch / "stderr").read_text(errors="replace").splitlines()
        messages = [line for line in lines if line.strip() and not any(word in line for word in IRRELEVANT)]
        return f": {' | '.join(messages[-3:])}" if messages else ""


def _scratch_folder() -> Path:
    scratch = Path(tempfile.mkdtemp(prefix="cr-"))  # short: in a laboratory's folder there is room for few more letters
    if len(str(scratch)) + len(SOCKET_IN_SCRATCH) > LONGEST_SOCKET_PATH:
        scratch.rmdir()
        raise DriverError(f"{scratch.parent} is too long a path for Chromium's sockets: set TMPDIR to a shorter one")
    return scratch
