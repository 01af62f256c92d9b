"""What trials need beside endpoints: what makes their videos, and what plays them."""

from pathlib import Path

import pytest

from longlook.engines.fake import FakeEngine
from longlook.pipeline import provide
from longlook.provision import encoder
from longlook.study.files import read_study
from longlook.study.plan import make_plan
from tests.unit.study.test_players import STUDY

PAGE_ARM = '[arms.page]\nprotocol = "h3"\nclient = "chromium"\nclient_knobs.player = "shaka"\n'
OWN_ARM = '[arms.page]\nprotocol = "h2"\ncongestion_control = "cubic"\nclient = "quic-go"\n'


@pytest.mark.parametrize("content", ["cmaf", "noise"])
def test_encoder_is_among_the_programs_of_a_video_that_it_made(tmp_path: Path, content: str) -> None:
    file = tmp_path / "own.toml"
    assert PAGE_ARM in STUDY
    file.write_text(STUDY.replace(PAGE_ARM, OWN_ARM).replace('content = "cmaf"', f'content = "{content}"'))
    found = provide.provide_for(make_plan(read_study(file)), FakeEngine(), lambda _text: None)
    assert found.tools == ({"ffmpeg@7.0.2": encoder.SHA256} if content == "cmaf" else {})
    assert {each.name for each in found.made} >= found.tools.keys()


def test_players_of_pages_are_those_of_all_arms(tmp_path: Path) -> None:
    file = tmp_path / "pages.toml"
    other = PAGE_ARM.replace("arms.page", "arms.other").replace("shaka", "dash.js")
    file.write_text(STUDY.replace(PAGE_ARM, f"{PAGE_ARM}\n{other}"))
    assert provide._players(make_plan(read_study(file))) == {"shaka", "dash.js"}


@pytest.mark.parametrize("browser", ["chromium", "firefox"])
def test_a_decoder_is_for_a_browser_that_has_none(tmp_path: Path, browser: str) -> None:
    file = tmp_path / "pages.toml"
    file.write_text(STUDY.replace('client = "chromium"', f'client = "{browser}"'))
    assert provide._lacks_decoder(make_plan(read_study(file))) is (browser == "firefox")
