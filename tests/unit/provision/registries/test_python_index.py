"""The index of Python's packages, which is a server of this machine here, is asked by uv, and by pip as it answers."""

import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from longlook.core.errors import MachineError
from longlook.provision.registries import python_index
from longlook.provision.registries.python_index import PythonIndex
from longlook.provision.registries.registry import Published

METADATA = b"Metadata-Version: 2.1\nName: thing\nVersion: 1.2.0\n"
PIP = """\
import json, sys
assert sys.argv[1:3] == ["index", "versions"]
print(json.dumps({"versions": ["1.2.0", "1.1.0"]}))
"""


class Index(BaseHTTPRequestHandler):
    """An index with one release of one package."""

    def do_GET(self) -> None:
        if self.path.endswith(".metadata"):
            self._answer(METADATA, "text/plain")
        elif self.path == "/simple/thing/":
            file = {
                "filename": "thing-1.2.0-py3-none-any.whl", "url": "/files/thing-1.2.0-py3-none-any.whl",
                "hashes": {"sha256": "0" * 64}, "core-metadata": {"sha256": hashlib.sha256(METADATA).hexdigest()},
                "size": 10, "upload-time": "2026-05-06T07:08:09Z",
            }  # fmt: skip
            page = {"meta": {"api-version": "1.1"}, "name": "thing", "versions": ["1.2.0"], "files": [file]}
            self._answer(json.dumps(page).encode(), "application/vnd.pypi.simple.v1+json")
        else:
            self.send_error(404)

    def _answer(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None: ...


@pytest.fixture(autouse=True)
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Index)
    monkeypatch.setenv("UV_DEFAULT_INDEX", f"http://127.0.0.1:{server.server_address[1]}/simple")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    pip = tmp_path / "pip" / "pip"
    pip.mkdir(parents=True)
    (pip / "__init__.py").touch()
    (pip / "__main__.py").write_text(PIP)
    monkeypatch.setattr(python_index, "unpack", lambda _pinned, _into: pip.parent)
    python_index._locked.cache_clear()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield
    server.shutdown()
    thread.join()


def test_versions_and_dates() -> None:
    thing = PythonIndex(("thing",))
    assert thing.versions() == ["1.2.0", "1.1.0"]
    assert thing.find("1.2.0") == Published("1.2.0", "2026-05-06")
    assert thing.find("1.3.0") is None


def test_a_release_of_programs_alone_has_no_sources(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match=r"has no sources of thing 1\.2\.0"):
        PythonIndex(("thing",)).fetch("thing", "1.2.0", tmp_path / "into")


def test_an_index_that_gives_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:1/simple")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    with pytest.raises(MachineError, match="the index of Python's packages cannot be asked for thing"):
        PythonIndex(("thing",)).find("1.2.0")
