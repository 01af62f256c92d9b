from dataclasses import replace

import pytest

from longlook.core.errors import InputError
from longlook.core.model import Link, Plan, Stage
from longlook.study.virtual_time import check_live, check_virtual
from tests.data.samples import study
from tests.data.trials import TRIAL

STUDY = replace(study(), metrics=("page_load_time",))


def plan(rate_bps: float, engine: str | None = None) -> Plan:
    link = Link((), (Stage("rate", {"rate_bps": int(rate_bps), "queue_bytes": 30000}),))
    return Plan("made-up", "hash", (replace(TRIAL, link=link, engine=engine),))


def test_cpu_time_is_refused_with_the_way_out() -> None:
    with pytest.raises(InputError, match="asks for client_cpu, which virtual time does not have") as caught:
        check_virtual(replace(STUDY, metrics=("page_load_time", "client_cpu")), plan(1e7), "virtual")
    assert caught.value.hint is not None
    assert "--engine live" in caught.value.hint


def test_fast_links_are_refused() -> None:
    with pytest.raises(InputError, match=r"a link of 250 Mbit/s: above 200 Mbit/s"):
        check_virtual(STUDY, plan(250e6), "virtual")
    check_virtual(STUDY, plan(200e6), "virtual")


def test_only_trials_in_virtual_time_are_asked() -> None:
    costly = replace(STUDY, metrics=("server_cpu",))
    check_virtual(costly, plan(1e9), "live")
    check_virtual(costly, plan(1e9, engine="live"), "virtual")
    with pytest.raises(InputError):
        check_virtual(costly, plan(1e7, engine="virtual"), "live")


def test_what_belongs_to_the_machines_kernel_is_set_in_virtual_time_alone() -> None:
    trial = replace(plan(1e7).trials[0], tcp={"initial_ssthresh_packets": 20, "sack": False})
    shared = replace(plan(1e7), trials=(trial,))
    check_live(STUDY, shared, "virtual")
    with pytest.raises(InputError, match="sets tcp_initial_ssthresh, which in real time would change Cubic") as caught:
        check_live(STUDY, shared, "live")
    assert caught.value.hint is not None
    assert "--engine virtual" in caught.value.hint
    with pytest.raises(InputError):
        check_live(STUDY, replace(shared, trials=(replace(trial, engine="live"),)), "virtual")
    check_live(STUDY, plan(1e7), "live")
