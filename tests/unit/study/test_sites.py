"""Studies whose arms name URLs in place of servers."""

from typing import Any

import pytest

from longlook.core import Endpoint, InputError, Problems, Study
from longlook.study import check_sites, installed, make_plan, parse_study

URL = "https://www.example.org/file"


def document(**changes: Any) -> dict[str, Any]:
    arm = {"server": URL, "client": "visitor", "connection": "cold"}
    return {
        "schema": 1,
        "title": "A site",
        "question": "Is h3 faster?",
        "rounds": 10,
        "timeout": "30s",
        "metrics": ["page_load_time"],
        "defaults": {"engine": "live"},
        "arms": {"h2": {**arm, "protocol": "h2"}, "h3": {**arm, "protocol": "h3"}},
        "contrasts": [{"name": "plt", "baseline": "h2", "contender": "h3"}],
        "workload": {"kind": "site"},
        "network": {},
        "factors": [{"name": "network", "levels": [{"label": "a", "network.rate": "10Mbit", "network.rtt": "20ms"}]}],
        **changes,
    }


def study(**changes: Any) -> Study:
    return parse_study("site", document(**changes), Problems("site"), installed())


def arm(**changes: Any) -> dict[str, Any]:
    arms = document()["arms"]
    return {"h2": {**arms["h2"], **changes}, "h3": arms["h3"]}


def test_an_arm_may_name_a_url() -> None:
    trials = make_plan(study()).trials
    assert all(trial.server == Endpoint("site", "0.65.0", {"url": URL}) for trial in trials)
    assert {(trial.protocol, trial.congestion_control) for trial in trials} == {("h2", None), ("h3", None)}


def test_a_url_in_another_form_is_the_same_trial() -> None:
    other = study(arms=arm(server="https://WWW.example.org:443/file"))
    assert [trial.id for trial in make_plan(other).trials] == [trial.id for trial in make_plan(study()).trials]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"arms": arm(server="http://www.example.org/")}, "https alone"),
        ({"arms": arm(server="site")}, "https://HOST/PATH"),
        ({"arms": arm(congestion_control="cubic")}, "its owner's"),
        ({"arms": arm(client="chromium")}, "clients that do: visitor"),
        ({"arms": arm(server="quic-go")}, "workload site is for servers of the world"),
        ({"workload": {"kind": "page", "objects": 1, "object": "1KB"}}, "a site serves what it has"),
        ({"behind": {"rate": "1Mbit", "rtt": "1ms"}}, "behind one emulated link"),
    ],
)
def test_what_cannot_be_asked_of_a_site_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as caught:
        make_plan(study(**changes))
    assert words in str(caught.value.message)


def test_a_site_has_no_virtual_time() -> None:
    virtual = study(defaults={})
    with pytest.raises(InputError, match="where time is real") as caught:
        check_sites(virtual, make_plan(virtual), "virtual")
    assert "--engine live" in str(caught.value.hint)
    check_sites(virtual, make_plan(virtual), "live")


def test_a_site_has_no_kernel_here() -> None:
    traced = study(capture={"tcp": True})
    with pytest.raises(InputError, match="has none here"):
        check_sites(traced, make_plan(traced), "live")
