"""One headless Firefox: its process, its profile and its BiDi connection."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from longlook_adapter.errors import DriverError
from longlook_adapter.processes import die_with_parent

from firefox_driver import trust
from firefox_driver.bidi import Bidi, CallError
from firefox_driver.preferences import Target, Value, at_start, preferences

START_LIMIT_S = 60.0
CLOSE_LIMIT_S = 10.0
POLL_S = 0.005
_IGNORE_LINKS = """(() => {
  const topic = "network:link-status-changed";
  for (const each of [...Services.obs.enumerateObservers(topic)]) {
    Services.obs.removeObserver(each.QueryInterface(Ci.nsIObserver), topic);
  }
  return String([...Services.obs.enumerateObservers(topic)].length);
})()"""
EVENTS = ["network.beforeRequestSent", "network.responseCompleted", "network.fetchError"]


class Browser:
    """A running browser; `bidi` is its connection, `version` the version that it reports."""

    def __init__(self, program: str, target: Target, authority: str, decoder: str = "") -> None:
        self.target = target
        self.version = ""
        self._scratch = Path(tempfile.mkdtemp(prefix="firefox-driver-"))
        self._profile = self._scratch / "profile"
        self._profile.mkdir()
        self._bidi: Bidi | None = None
        (self._profile / "user.js").write_text(preferences(target))
        try:
            self._trust(authority, str(Path(program).resolve().parent))
            self._process = self._spawn(program, decoder)
        except BaseException:
            shutil.rmtree(self._scratch, ignore_errors=True)
            raise

    @classmethod
    async def launch(cls, program: str, target: Target, authority: str, decoder: str = "") -> "Browser":
        """Start a browser and wait until it answers; DriverError with the reason where it does not.

        `decoder` is a folder with a libavcodec, with which it decodes H.264.
        """
        browser = cls(program, target, authority, decoder)
        try:
            async with asyncio.timeout(START_LIMIT_S):
                browser._bidi = await Bidi.connect(await browser._address())
                answer = await browser.bidi.call("session.new", capabilities={})
                await browser.bidi.call("session.subscribe", events=EVENTS)
        except TimeoutError as error:
            await browser.close()
            raise DriverError(f"the browser does not answer {START_LIMIT_S:g} s after its start") from error
        except BaseException:
            await browser.close()
            raise
        browser.version = answer["capabilities"]["browserVersion"]
        return browser

    @property
    def bidi(self) -> Bidi:
        """Return the BiDi connection."""
        if self._bidi is None:
            raise DriverError("the browser has no BiDi connection yet")
        return self._bidi

    async def notify(self, topic: str) -> None:
        """Notify the browser's observers of a topic, as its own code does: BiDi has no method for it."""
        await self.evaluate(f"Services.obs.notifyObservers(null, {json.dumps(topic)})")

    async def ignore_links(self) -> None:
        """Let nothing in the browser hear of the machine's links from now on.

        A second after its start Firefox takes a laboratory without a route to the internet for a network that went
        down, and a session in real time sees the links of other trials come and go: after each such event it opens
        another HTTP/3 connection for what it asks for next.
        """
        left = await self.evaluate(_IGNORE_LINKS)
        if left != "0":
            raise DriverError(f"{left} parts of the browser still hear of the machine's links")

    async def prefer(self, values: Mapping[str, Value], *, applies: bool) -> None:
        """Set preferences, or leave them to what they are at Firefox's start."""
        calls = [_call(name, value) if applies else self._reset(name) for name, value in values.items()]
        await self.evaluate("; ".join(calls))

    async def evaluate(self, expression: str) -> str:
        """Return the value of a JavaScript expression, "" where it is no text, with the rights of the browser's code;
        DriverError where it fails.
        """
        windows = await self.bidi.call("browsingContext.getTree", maxDepth=0, **{"moz:scope": "chrome"})
        target = {"context": windows["contexts"][0]["context"]}
        answer = await self.bidi.call("script.evaluate", expression=expression, target=target, awaitPromise=False)
        if answer["type"] != "success":
            raise DriverError(f"the browser cannot evaluate {expression}: {answer['exceptionDetails']['text']}")
        return str(answer["result"].get("value", ""))

    async def close(self) -> None:
        """End the browser, gently if it listens, and remove its folder."""
        if self._bidi is not None and self._process.poll() is None:
            with contextlib.suppress(TimeoutError, DriverError, CallError):
                async with asyncio.timeout(CLOSE_LIMIT_S):
                    await self._bidi.call("browser.close")
                    while self._process.poll() is None:
                        await asyncio.sleep(POLL_S)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if self._bidi is not None:
            await self._bidi.close()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def _reset(self, name: str) -> str:
        """Return the call that makes a preference what the profile has, or else Firefox's own."""
        started = at_start(self.target)
        return _call(name, started[name]) if name in started else f"Services.prefs.clearUserPref({json.dumps(name)})"

    def _trust(self, authority: str, libraries: str) -> None:
        done = subprocess.run(
            (sys.executable, trust.__file__, str(self._profile), authority, libraries),
            env={**os.environ, "LD_LIBRARY_PATH": libraries},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise DriverError(f"the profile cannot be made to trust {authority}: {last}")

    def _spawn(self, program: str, decoder: str) -> subprocess.Popen[bytes]:
        folders = ("HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR")
        argv = [program, "--headless", "--no-remote", "--profile", str(self._profile), "--remote-debugging-port", "0"]
        argv += ["--remote-allow-system-access"]  # for `evaluate`
        quiet = {
            "MOZ_CRASHREPORTER_DISABLE": "1",
            "MOZ_DISABLE_CONTENT_SANDBOX": "1",  # the only pages are our own
            "MOZ_DISABLE_RDD_SANDBOX": "1",  # of the decoder: the only videos are our own
            "MOZ_REMOTE_SETTINGS_DEVTOOLS": "1",  # or a release ignores `services.settings.server`
        }
        if decoder:
            paths = (decoder, os.environ.get("LD_LIBRARY_PATH", ""))
            quiet["LD_LIBRARY_PATH"] = ":".join(filter(None, paths))
        try:
            with (self._scratch / "stderr").open("wb") as stderr:
                return subprocess.Popen(
                    [*argv, "about:blank"],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=stderr,
                    env={**os.environ, **dict.fromkeys(folders, str(self._scratch)), **quiet},
                    start_new_session=True,
                    preexec_fn=die_with_parent,  # noqa: PLW1509 - this program has one thread
                )
        except OSError as error:
            raise DriverError(f"cannot start {program}: {error.strerror}") from error

    async def _address(self) -> str:
        """Return the websocket's address, from the file that the browser writes when it listens."""
        file = self._profile / "WebDriverBiDiServer.json"
        while (code := self._process.poll()) is None:
            with contextlib.suppress(FileNotFoundError, ValueError):  # ValueError: not written whole yet
                data = json.loads(file.read_text())
                return f"ws://{data['ws_host']}:{data['ws_port']}/session"
            await asyncio.sleep(POLL_S)
        lines = (self._scratch / "stderr").read_text(errors="replace").splitlines()
        raise DriverError(f"the browser exited with {code}: {' | '.join(lines[-3:])}")


def _call(name: str, value: Value) -> str:
    """Return the call that sets a preference."""
    kind = "Bool" if isinstance(value, bool) else "Int" if isinstance(value, int) else "String"
    return f"Services.prefs.set{kind}Pref({json.dumps(name)}, {json.dumps(value)})"
