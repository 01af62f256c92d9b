"""The comment of a gate: one per request, renewed, on a server that answers as GitHub and GitLab do."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from ci import comment

TEXT = "<!-- longlook gate -->\n### passes\n"


class Host(ThreadingHTTPServer):
    """Holds comments below any path."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.gives = "github"  # whose form its comments have
        self.account: str | None = None  # None: a token of a workflow, which may not ask
        self.comments: list[dict[str, Any]] = []
        self.asked: list[tuple[str, str, str]] = []

    def comment(self, number: int, account: str, body: str) -> dict[str, Any]:
        author = {"author": {"username": account}} if self.gives == "gitlab" else {"user": {"login": account}}
        return {"id": number, "body": body, **author}


class Handler(BaseHTTPRequestHandler):
    """Answers lists in pages of 100, additions and changes."""

    server: Host

    def _answer(self, data: object, status: int = 200) -> None:
        body = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        if self.path == "/user":
            name = "username" if self.server.gives == "gitlab" else "login"
            account = self.server.account
            self._answer({name: account} if account else {}, 200 if account else 403)
            return
        page = int(self.path.rpartition("=")[2])
        self._answer(self.server.comments[100 * (page - 1) : 100 * page])

    def _write(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"]
        token = self.headers.get("Authorization") or self.headers.get("PRIVATE-TOKEN") or ""
        self.server.asked.append((self.command, self.path, token))
        if self.command == "POST":
            account = self.server.account or "github-actions[bot]"
            self.server.comments.append(self.server.comment(1_000 + len(self.server.comments), account, body))
        else:
            number = int(self.path.rpartition("/")[2])
            next(each for each in self.server.comments if each["id"] == number)["body"] = body
        self._answer({})

    do_POST = do_PATCH = do_PUT = _write  # noqa: N815 (names that http.server looks for)

    def log_message(self, *_arguments: object) -> None:
        pass


@pytest.fixture
def host() -> Iterator[Host]:
    server = Host()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def variables(host: Host, kind: str, tmp_path: Path) -> dict[str, str]:
    url = f"http://127.0.0.1:{host.server_port}"
    if kind == "gitlab":
        return {
            "CI_MERGE_REQUEST_IID": "7",
            "CI_API_V4_URL": url,
            "CI_PROJECT_ID": "3",
            "LONGLOOK_GITLAB_TOKEN": "secret",
        }
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 7}}))
    return {
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_API_URL": url,
        "GITHUB_REPOSITORY": "a/b",
        "GITHUB_TOKEN": "secret",
    }


@pytest.mark.parametrize(
    ("kind", "account", "token", "change", "comments", "one"),
    [
        ("github", None, "Bearer secret", "PATCH", "/repos/a/b/issues/7/comments", "/repos/a/b/issues/comments"),
        ("github", "ada", "Bearer secret", "PATCH", "/repos/a/b/issues/7/comments", "/repos/a/b/issues/comments"),
        ("gitlab", "bot", "secret", "PUT", "/projects/3/merge_requests/7/notes", "/projects/3/merge_requests/7/notes"),
    ],
)
def test_one_comment_stays_and_nobody_elses_is_changed(
    kind: str, account: str | None, token: str, change: str, comments: str, one: str, host: Host, tmp_path: Path
) -> None:
    host.gives, host.account = kind, account
    host.comments = [host.comment(number, "somebody", TEXT) for number in range(150)]
    place = comment.place_of(variables(host, kind, tmp_path))
    assert place is not None
    assert comment.write(place, TEXT) == "added"
    assert comment.write(place, TEXT.replace("passes", "does not pass")) == "renewed"
    assert host.asked == [("POST", comments, token), (change, f"{one}/1150", token)]
    assert [each["body"] for each in host.comments] == [TEXT] * 150 + [TEXT.replace("passes", "does not pass")]


@pytest.mark.parametrize("missing", ["GITHUB_TOKEN", "GITHUB_EVENT_PATH"])
def test_without_a_request_or_a_token_nothing_is_written(missing: str, host: Host, tmp_path: Path) -> None:
    given = variables(host, "github", tmp_path)
    del given[missing]
    assert comment.place_of(given) is None


def test_a_host_that_refuses_does_not_decide_the_gate(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in variables(host, "github", tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("GITHUB_API_URL", "http://127.0.0.1:9")
    file = tmp_path / "comment.md"
    file.write_text(TEXT)
    monkeypatch.setattr("sys.argv", ["comment.py", str(file)])
    assert comment.main() == 0
    assert "cannot be written" in capsys.readouterr().err


def test_long_comments_lose_their_last_folded_parts_first() -> None:
    table = "<details><summary>table</summary>\nrows\n</details>\n"
    why = f"<details><summary>why</summary>\n{'x' * 70_000}\n</details>\n"
    short = comment.shortened(f"{TEXT}{table}{why}Repeat it\n")
    assert short.startswith(TEXT) and table in short and "xxx" not in short and short.endswith("Repeat it\n")
    assert len(comment.shortened("y" * 100_000)) < 65_536
