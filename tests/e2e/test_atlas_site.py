"""The site of the entries of this repository, by the command: findings, links and sizes of all that is published."""

import json
from pathlib import Path

import pytest

from longlook.instruments.atlas.site import links
from longlook.instruments.atlas.site.build import MOST_BYTES
from tests.support.command_line import longlook

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

ENTRIES = Path(__file__).parents[2] / "docs" / "data" / "entries"


def test_the_site_of_this_repository_is_built(tmp_path: Path) -> None:
    out = tmp_path / "site"
    run = longlook("atlas", "--site", str(out), "--entries", str(ENTRIES), "--out", str(tmp_path / "atlas"), "--json")
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout.splitlines()[-1])
    content = {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()}
    seen = links.look(content)
    assert seen.broken == ()
    assert max(seen.first_load.values()) == told["largest_page_bytes"] < MOST_BYTES
    assert told["pages"] == len(seen.first_load) > 150
    assert content["index.html"].decode().count('<section class="finding"') == 8
    assert [path.name for path in tmp_path.iterdir()] == ["site"]  # nothing was run, and nothing is left beside it
