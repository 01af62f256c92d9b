"""Writes the comment of a gate to a pull request or a merge request: one that stays, and is renewed at each push.

`python ci/comment.py FILE` reads where it is from the variables that GitHub Actions or GitLab CI set, and a token from
GITHUB_TOKEN or LONGLOOK_GITLAB_TOKEN. Standard library only, since it runs before anything is installed.
"""

import json
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_LONGEST = 60_000
"""GitHub takes 65,536 characters."""
_PAGES = 50
_ACTIONS = "github-actions[bot]"
"""The account of the token that GitHub gives to a workflow, which may not ask who it is."""


@dataclass(frozen=True)
class Place:
    """The comments of one request. `update` is the method that changes one."""

    comments: str
    one: str  # the URL of a comment, before its number
    user: str  # the URL that says whose the token is
    headers: Mapping[str, str]
    update: str


def place_of(env: Mapping[str, str]) -> Place | None:
    """Return where the comment goes; None if this is no request of either host, or nobody gave a token."""
    if (path := env.get("GITHUB_EVENT_PATH")) and env.get("GITHUB_TOKEN"):
        event = json.loads(Path(path).read_text())
        number = event.get("pull_request", {}).get("number")
        api = env["GITHUB_API_URL"]
        base = f"{api}/repos/{env['GITHUB_REPOSITORY']}/issues"
        headers = {"Authorization": f"Bearer {env['GITHUB_TOKEN']}", "Accept": "application/vnd.github+json"}
        if not number:
            return None
        return Place(f"{base}/{number}/comments", f"{base}/comments", f"{api}/user", headers, "PATCH")
    if (number := env.get("CI_MERGE_REQUEST_IID")) and env.get("LONGLOOK_GITLAB_TOKEN"):
        api = env["CI_API_V4_URL"]
        notes = f"{api}/projects/{env['CI_PROJECT_ID']}/merge_requests/{number}/notes"
        return Place(notes, notes, f"{api}/user", {"PRIVATE-TOKEN": env["LONGLOOK_GITLAB_TOKEN"]}, "PUT")
    return None


def write(place: Place, text: str) -> str:
    """Renew the token's own comment that begins with the same line as `text`, or add it; return which.

    A comment of somebody else is left alone, since its author could change it again afterwards.
    """
    marker = text.partition("\n")[0]
    own = _account(place)
    for comment in _comments(place):
        if _author(comment) == own and str(comment["body"]).startswith(marker):
            _ask(place, place.update, f"{place.one}/{comment['id']}", {"body": text})
            return "renewed"
    _ask(place, "POST", place.comments, {"body": text})
    return "added"


def shortened(text: str) -> str:
    """Return a text that a host takes: the last folded parts are left out first, and that is said."""
    while len(text) > _LONGEST and (at := text.rfind("<details>")) != -1:
        end = text.find("</details>", at)
        rest = text[end + len("</details>") :] if end != -1 else ""
        text = f"{text[:at]}(left out, for its length: see the artefacts){rest}"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}\n\n(cut off, for its length: see the artefacts)"


def _account(place: Place) -> str:
    try:
        user = _ask(place, "GET", place.user, None)
    except urllib.error.HTTPError as error:
        if error.code != 403:
            raise
        return _ACTIONS
    return str(user.get("login") or user["username"])


def _author(comment: Mapping[str, Any]) -> str:
    author = comment.get("user") or comment.get("author") or {}  # of GitHub, of GitLab
    return str(author.get("login") or author.get("username"))


def _comments(place: Place) -> Iterator[dict[str, Any]]:
    for page in range(1, _PAGES + 1):
        found = _ask(place, "GET", f"{place.comments}?per_page=100&page={page}", None)
        yield from found
        if len(found) < 100:
            return


def _ask(place: Place, method: str, url: str, body: Mapping[str, str] | None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    headers = {**place.headers, "Content-Type": "application/json", "User-Agent": "longlook"}
    request = urllib.request.Request(url, data, headers, method=method)  # noqa: S310 (the host's own variable)
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
        return json.loads(answer.read() or b"null")


def main() -> int:
    """Write the comment. A token that may not is no reason to fail: the gate itself decides."""
    place = place_of(os.environ)
    if place is None:
        sys.stderr.write("longlook: no request or no token, so no comment is written\n")
        return 0
    try:
        done = write(place, shortened(Path(sys.argv[1]).read_text(encoding="utf-8")))
    except (urllib.error.URLError, OSError, ValueError, KeyError) as error:
        sys.stderr.write(f"longlook: the comment cannot be written: {error}\n")
        return 0
    sys.stderr.write(f"longlook: the comment was {done}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
