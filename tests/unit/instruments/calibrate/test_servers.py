"""Servers beside a reference: the study that is made for them, and what it finds of each."""

from dataclasses import replace

import pytest
from tests.data.gates import estimate

from longlook.core.errors import InputError
from longlook.instruments.calibrate.servers import RECEIVING, REFERENCES, STUDY, WAITING, compared, servers_study


def test_without_names_it_is_the_shipped_study() -> None:
    study = servers_study(rounds=12)
    assert (study.id, study.rounds) == (STUDY, 12)
    assert set(REFERENCES.values()) <= {arm.name for arm in study.arms}


def test_named_servers_stand_beside_the_reference_of_their_protocol() -> None:
    study = servers_study(["quinn@0.11.9", "nginx@1.22.1:h2"])
    shipped = servers_study()
    assert [arm.name for arm in study.arms] == ["envoy", "apache-tcp", "quinn-0.11.9-h3", "nginx-1.22.1-h2"]
    assert study.arms[0] == next(arm for arm in shipped.arms if arm.name == "envoy")
    # Path, transfer and what rounds draw are the paper's.
    assert (study.settings, study.factors, study.around) == (shipped.settings, shipped.factors, shipped.around)
    assert study.around
    assert [(each.baseline, each.contender, each.metric) for each in study.contrasts] == [
        ("envoy", "quinn-0.11.9-h3", WAITING),
        ("envoy", "quinn-0.11.9-h3", RECEIVING),
        ("apache-tcp", "nginx-1.22.1-h2", WAITING),
        ("apache-tcp", "nginx-1.22.1-h2", RECEIVING),
    ]
    assert not study.claims


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["qinn"], "unknown stack 'qinn'"),
        (["nginx@1.22.1"], "does not speak it"),
        (["quinn", "quinn"], "given twice"),
        (["echo:udp-echo"], "no reference for this protocol"),
        (["apache:h2"], "it is the reference itself"),
    ],
)
def test_a_server_that_cannot_be_compared_is_refused(names: list[str], words: str) -> None:
    with pytest.raises(InputError, match=words):
        servers_study(names)


def test_in_real_time_rounds_draw_nothing() -> None:
    assert servers_study(engine="live").around == servers_study(["quinn"], engine="live").around == {}


def test_each_server_has_its_medians_its_effects_and_its_settings() -> None:
    study = servers_study(["quinn"])
    contender = study.arms[1].name
    of = {"baseline": "envoy", "contender": contender}
    waiting = replace(estimate(5), metric=WAITING, baseline_median=0.073, contender_median=0.069, **of)
    receiving = replace(estimate(-9), metric=RECEIVING, baseline_median=0.95, contender_median=1.04, **of)
    other = replace(estimate(1), metric="page_load_time", **of)
    reference, quinn = compared(study, [other, waiting, receiving])
    assert (reference.reference, reference.waiting_s, reference.receiving_s) == (True, 0.073, 0.95)
    assert (reference.waiting, reference.receiving) == (None, None)
    assert (reference.program, quinn.program) == ("envoy@1.40.0", "quinn@0.11.12")
    assert reference.settings == {"congestion_control": "cubic"}
    assert (quinn.reference, quinn.waiting_s, quinn.receiving_s) == (False, 0.069, 1.04)
    assert (quinn.waiting, quinn.receiving) == (waiting, receiving)
    assert (quinn.protocol, quinn.settings["initial_window"]) == ("h3", 10)
