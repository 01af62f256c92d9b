"""Players in a page: what a study may ask of them is refused when it is planned, not trial by trial."""

from pathlib import Path

import pytest

from longlook.core.errors import InputError
from longlook.study.files import read_study
from longlook.study.plan import make_plan

STUDY = """
schema = 1
title = "Players"
question = "Do they play?"
rounds = 1
around = "none"
timeout = "60s"
metrics = ["time_to_start"]

[arms.own]
protocol = "h3"
client = "quic-go"

[arms.page]
protocol = "h3"
client = "chromium"
client_knobs.player = "shaka"

[defaults]
connection = "cold"
server = "quic-go"
congestion_control = "cubic"

[workload]
kind = "video"
content = "cmaf"
quality = "tiny"
segment = "2s"
length = "8s"
watch = "8s"
buffer = "6s"

[network]
rtt = "36ms"

[[factors]]
name = "rate"
sets = "network.rate"
levels = ["5Mbit"]

[[contrasts]]
name = "start"
baseline = "own"
contender = "page"
metric = "time_to_start"
"""


def plan(folder: Path, *changes: tuple[str, str]) -> int:
    """Return the number of trials of the study with changes to its text."""
    text = STUDY
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    path = folder / "players.toml"
    path.write_text(text)
    return len(make_plan(read_study(path)).trials)


@pytest.mark.parametrize("browser", ["chromium", "firefox"])
def test_both_players_of_a_browser_are_planned(tmp_path: Path, browser: str) -> None:
    client = ('client = "chromium"', f'client = "{browser}"')
    assert plan(tmp_path, client) == plan(tmp_path, client, ('"shaka"', '"dash.js"'), ('"tiny"', '"bola"')) == 2


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (('client_knobs.player = "shaka"\n', ""), "plays a video with a player of its page: shaka or dash.js"),
        (('"shaka"', '"vlc"'), "vlc"),
        (('content = "cmaf"', 'content = "noise"'), 'give content = "cmaf"'),
        (('quality = "tiny"', 'quality = "bola"'), "rules of shaka: none; or name a rung"),
        (('buffer = "6s"', 'buffer = "3s"'), "two segments at least"),
        (('buffer = "6s"', 'buffer = "6s"\nstart = "5s"\nresume = "5s"'), "a segment less than the buffer"),
        (('buffer = "6s"', 'buffer = "6s"\nstart = "4s"'), "one setting"),
        (('connection = "cold"', 'connection = "resumed"'), "over a new connection"),
        (('client = "chromium"\nclient_knobs.player = "shaka"', 'client = "pycurl"'), "pycurl plays no video"),
    ],
)
def test_what_a_player_cannot_have_is_refused(tmp_path: Path, change: tuple[str, str], problem: str) -> None:
    with pytest.raises(InputError) as error:
        plan(tmp_path, change)
    assert problem in f"{error.value.message} {error.value.hint}"


def test_dashjs_resumes_with_what_it_has(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no buffer with which it resumes"):
        plan(tmp_path, ('"shaka"', '"dash.js"'), ('buffer = "6s"', 'buffer = "6s"\nresume = "2s"'))
