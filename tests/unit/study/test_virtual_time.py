from dataclasses import replace
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.core.errors import InputError
from longlook.core.model import Capture, Link, Plan, Processor, Stage
from longlook.network.stages import largest_rate_bps
from longlook.study.files import read_study
from longlook.study.plan import make_plan
from longlook.study.virtual_time import check_live, check_virtual
from tests.data.samples import study
from tests.data.studies import CATALOGUE, study_file
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


def test_where_cpu_time_goes_is_refused_with_the_way_out() -> None:
    with pytest.raises(InputError, match="captures where CPU time goes"):
        check_virtual(replace(STUDY, capture=Capture(cpu=True)), plan(1e7), "virtual")
    check_virtual(replace(STUDY, capture=Capture(cpu=True)), plan(1e7), "live")


def test_fast_links_are_refused() -> None:
    with pytest.raises(InputError, match=r"a link of 250 Mbit/s: above 200 Mbit/s"):
        check_virtual(STUDY, plan(250e6), "virtual")
    check_virtual(STUDY, plan(200e6), "virtual")


def test_the_limit_is_about_the_rate_that_a_study_states_and_not_about_what_a_round_draws(tmp_path: Path) -> None:
    for rate, allowed in (("200Mbit", True), ("200001kbit", False), ("204Mbit", False)):
        file = study_file(tmp_path, ('around = "none"', 'around = "standard"'), ("50 Mbit/s", rate))
        drawing = replace(read_study(file, CATALOGUE), rounds=20)
        planned = make_plan(drawing, [], CATALOGUE)
        drawn_bps = [largest_rate_bps(stage) for trial in planned.trials for stage in trial.link.down[:1]]
        assert max(drawn_bps) > 202e6
        if allowed:
            check_virtual(drawing, planned, "virtual", CATALOGUE)
        else:
            with pytest.raises(InputError, match=r"a link of 20[04](\.001)? Mbit/s: above 200 Mbit/s"):
                check_virtual(drawing, planned, "virtual", CATALOGUE)


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


def test_endpoints_with_processors_may_have_fast_links_and_cpu_time(snapshot: SnapshotAssertion) -> None:
    costly = replace(STUDY, metrics=("server_cpu",))
    (trial,) = plan(1e9).trials
    one = replace(plan(1e9), trials=(replace(trial, processors={"client": Processor(call_ns=1)}),))
    with pytest.raises(InputError, match="CPU costs no time there") as caught:
        check_virtual(costly, one, "virtual")
    assert caught.value.hint is not None
    assert caught.value.hint == snapshot
    with pytest.raises(InputError, match="a link of 1000 Mbit/s"):
        check_virtual(STUDY, one, "virtual")
    both = dict.fromkeys(("client", "server"), Processor(call_ns=1))
    check_virtual(costly, replace(one, trials=(replace(trial, processors=both),)), "virtual")


def test_a_processor_of_ones_own_is_for_virtual_time() -> None:
    trial = replace(plan(1e7).trials[0], processors={"server": Processor(call_ns=1)})
    slow = replace(plan(1e7), trials=(trial,))
    check_live(STUDY, slow, "virtual")
    with pytest.raises(InputError, match="gives its server a processor of its own, which in real time is this machine"):
        check_live(STUDY, slow, "live")
