"""The conventions of the QUIC interop runner, for stacks whose programs follow them."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from longlook.core.job import Content
from longlook.core.stack import Command
from longlook.provision import tls
from tests.adapters.harness import json_lines, of_event, program_of, serving, start

PROGRAM = "quic-go"
CASES = {"handshake": 1, "transfer": 3, "http3": 3, "resumption": 3, "zerortt": 3}


@dataclass(frozen=True)
class Folders:
    """The folders that the runner mounts."""

    www: Path
    downloads: Path
    certs: Path

    @property
    def env(self) -> Mapping[str, str]:
        return {"WWW": str(self.www), "DOWNLOADS": str(self.downloads), "CERTS": str(self.certs)}


@pytest.fixture
def folders(tmp_path: Path, page: Content) -> Folders:
    made = Folders(Path(page.root) / "i", tmp_path / "downloads", tmp_path / "certs")
    made.downloads.mkdir()
    made.certs.mkdir()
    identity = tls.identity()
    shutil.copy(identity.certificate, made.certs / "cert.pem")
    shutil.copy(identity.key, made.certs / "priv.key")
    return made


def run(env: Mapping[str, str]) -> tuple[int, str]:
    process = start(Command((program_of(PROGRAM).path,)), env)
    out, _ = process.communicate(timeout=30)
    return process.returncode, out


@pytest.mark.parametrize("case", CASES)
def test_case(case: str, folders: Folders, tmp_path: Path) -> None:
    names = [f"{number:03d}.png" for number in range(CASES[case])]
    logs = {"QLOGDIR": str(tmp_path / "qlog"), "SSLKEYLOGFILE": str(tmp_path / "keys.log")}
    server_env = {"ROLE": "server", "TESTCASE": case, "PORT": "0", **folders.env}
    with serving(Command((program_of(PROGRAM).path,)), server_env) as server:
        requests = " ".join(f"https://127.0.0.1:{server.port}/{name}" for name in names)
        code, out = run({"ROLE": "client", "TESTCASE": case, "REQUESTS": requests, **folders.env, **logs})
        assert server.stop() == 0
    assert code == 0, out
    for name in names:
        assert (folders.downloads / name).read_bytes() == (folders.www / name).read_bytes()
    connections = [(line["resumed"], line["used_0rtt"]) for line in of_event(json_lines(out), "connection")]
    wanted = {"resumption": [(False, False), (True, False)], "zerortt": [(False, False), (True, True)]}
    assert connections == wanted.get(case, [(False, False)])
    assert len(list((tmp_path / "qlog").iterdir())) == len(connections)
    assert "TRAFFIC_SECRET" in (tmp_path / "keys.log").read_text()


@pytest.mark.parametrize("role", ["server", "client"])
def test_other_cases_are_not_supported(role: str, folders: Folders) -> None:
    code, out = run({"ROLE": role, "TESTCASE": "chacha20", "REQUESTS": "https://127.0.0.1/a", **folders.env})
    assert code == 127
    assert json_lines(out)[0]["supported"] is False


def test_missing_file_fails(folders: Folders) -> None:
    for case in ("transfer", "http3"):
        env = {"TESTCASE": case, "PORT": "0", **folders.env}
        with serving(Command((program_of(PROGRAM).path,)), {"ROLE": "server", **env}) as server:
            url = f"https://127.0.0.1:{server.port}/missing"
            code, out = run({"ROLE": "client", "REQUESTS": url, **env})
        assert code == 1
        assert len(of_event(json_lines(out), "error")) == 1


@pytest.mark.parametrize(
    "env", [{"ROLE": "waiter", "TESTCASE": "transfer"}, {"ROLE": "client", "TESTCASE": "transfer"}]
)
def test_bad_environment_is_bad_usage(env: dict[str, str]) -> None:
    assert run(env)[0] == 2
