"""Headless Chromium over the DevTools protocol, without network: what a test of a page needs and no more."""

import base64
import itertools
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

START_LIMIT_S = 30.0
WAIT_LIMIT_S = 30.0
CHROMIUM = "chromium"


_LIES_STILL = """(async (element) => {
  element.scrollIntoView({block: 'center', behavior: 'instant'});
  const frame = () => new Promise(requestAnimationFrame);
  const place = () => JSON.stringify(element.getBoundingClientRect());
  const before = place();
  await frame();
  await frame();
  return place() === before;
})"""


class Page:
    """One tab. `problems` collects console errors, uncaught exceptions and logged errors; `requests` every URL, and
    `trace` the events that tracing reported.
    """

    def __init__(self, socket: ClientConnection, session: str) -> None:
        self._socket = socket
        self._session = session
        self._ids = itertools.count(1000)
        self.problems: list[str] = []
        self.requests: list[str] = []
        self.trace: list[dict[str, Any]] = []
        self._traced = False

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol and return its result."""
        number = next(self._ids)
        self._socket.send(
            json.dumps({"id": number, "method": method, "params": parameters, "sessionId": self._session})
        )
        while True:
            message = json.loads(self._socket.recv(timeout=WAIT_LIMIT_S))
            if message.get("id") == number:
                assert "error" not in message, message["error"]
                result: dict[str, Any] = message["result"]
                return result
            self._note(message)

    def _note(self, message: dict[str, Any]) -> None:
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            self.problems.append(str([argument.get("value") for argument in parameters["args"]]))
        elif method == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(parameters["exceptionDetails"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.problems.append(parameters["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Tracing.dataCollected":
            self.trace += parameters["value"]
        elif method == "Tracing.tracingComplete":
            self._traced = True

    def open(self, url: str) -> None:
        """Go to a page and wait until it says that it is ready."""
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call(
            "Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=-1, uploadThroughput=-1
        )
        self.call("Page.navigate", url=url)
        self.wait_for("document.documentElement?.dataset.ready === 'true'")

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression; an exception fails the test."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait_for(self, expression: str) -> None:
        """Wait until an expression holds."""
        deadline_s = time.monotonic() + WAIT_LIMIT_S
        while not self.evaluate(expression):
            assert time.monotonic() < deadline_s, f"{expression} did not hold; problems: {self.problems}"
            time.sleep(0.02)

    def click(self, selector: str) -> None:
        """Click in the middle of the first element that a selector finds, with real mouse events."""
        x, y = self.hover(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def hover(self, selector: str) -> tuple[float, float]:
        """Move the mouse to the middle of the first element that a selector finds; returns the place.

        Charts still being drawn move what is below them, so the element must first lie still for two frames.
        """
        find = f"document.querySelector({json.dumps(selector)})"
        self.wait_for(f"{_LIES_STILL}({find})")
        box = self.evaluate(f"(({{x, y, width, height}}) => [x, y, width, height])({find}.getBoundingClientRect())")
        x, y = box[0] + box[2] / 2, box[1] + box[3] / 2
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        return x, y

    def press(self, key: str) -> None:
        """Press and release a key."""
        codes = {"Enter": 13, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Tab": 9}
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=codes[key], **text)

    def resize(self, width: int, height: int) -> None:
        """Set the size of the viewport in CSS pixels."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def begin_trace(self, *categories: str) -> None:
        """Begin to trace events of some categories."""
        self.trace, self._traced = [], False
        self.call("Tracing.start", traceConfig={"includedCategories": list(categories), "excludedCategories": ["*"]})

    def end_trace(self) -> list[dict[str, Any]]:
        """End the trace and return its events."""
        self.call("Tracing.end")
        while not self._traced:
            self._note(json.loads(self._socket.recv(timeout=WAIT_LIMIT_S)))
        return self.trace

    def wheel(self, down_px: float) -> None:
        """Turn the wheel of the mouse in the middle of the window, and wait for the next frame."""
        self.call("Input.dispatchMouseEvent", type="mouseWheel", x=640, y=500, deltaX=0, deltaY=down_px)
        self.evaluate("new Promise((done) => requestAnimationFrame(() => done()))")

    def screenshot(self, path: Path) -> None:
        """Save the whole page as PNG."""
        data = self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(data))


@contextmanager
def chromium(width: int = 1280, height: int = 1000) -> Iterator[Page]:
    """A tab of a fresh headless Chromium, which ends with the context and leaves nothing."""
    with (
        tempfile.TemporaryDirectory(prefix="longlook-", ignore_cleanup_errors=True) as profile,
        _chromium(Path(profile)) as page,
    ):
        page.resize(width, height)
        yield page


@contextmanager
def _chromium(profile: Path) -> Iterator[Page]:
    program = shutil.which(CHROMIUM)
    assert program, "Chromium is not installed: apt-get install chromium"
    arguments = [
        program, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0",
        f"--user-data-dir={profile}", "--no-first-run", "--disable-background-networking", "--disable-component-update",
        "--disable-sync", "--disable-default-apps", "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND",
        "about:blank",
    ]  # fmt: skip
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        with connect(_address(profile, process), max_size=None) as socket:
            yield Page(socket, _attach(socket))
            socket.send(json.dumps({"id": 1, "method": "Browser.close"}))
            process.wait(timeout=10)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def _address(profile: Path, process: subprocess.Popen[bytes]) -> str:
    port_file = profile / "DevToolsActivePort"
    deadline_s = time.monotonic() + START_LIMIT_S
    while time.monotonic() < deadline_s:
        assert process.poll() is None, f"Chromium ended with {process.returncode}"
        lines = port_file.read_text().splitlines() if port_file.exists() else []
        if len(lines) == 2:
            return f"ws://127.0.0.1:{lines[0]}{lines[1]}"
        time.sleep(0.02)
    raise AssertionError("Chromium did not open its DevTools port")


def _attach(socket: ClientConnection) -> str:
    target = _browser_call(socket, 1, "Target.createTarget", url="about:blank")["targetId"]
    session: str = _browser_call(socket, 2, "Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    return session


def _browser_call(socket: ClientConnection, number: int, method: str, **parameters: Any) -> dict[str, Any]:
    socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
    while True:
        message = json.loads(socket.recv(timeout=START_LIMIT_S))
        if message.get("id") == number:
            result: dict[str, Any] = message["result"]
            return result
