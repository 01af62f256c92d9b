"""Arms whose client chooses between QUIC and TCP."""

from dataclasses import replace
from pathlib import Path

import pytest

from longlook.core.errors import InputError
from longlook.core.model import Endpoint
from longlook.core.stack import Knob
from longlook.study.files import read_study
from longlook.study.plan import make_plan
from tests.data.studies import CATALOGUE, KNOBS, study_file

QUIC = ('protocol = "h3"\nconnection = "cold"', 'protocol = "h3-or-h2"\nconnection = "cold"')
TCP = ('protocol = "h3"\nconnection = "cold"', 'protocol = "h3-or-h2"\nconnection = "cold"\ntcp = "stock"')
ABLE = replace(
    CATALOGUE.stacks["go"],
    either=True,
    knobs={
        **KNOBS,
        "delay": Knob(float, "seconds", None, "before TCP", ("client",), minimum=0, protocols=("h3-or-h2",)),
        "credit": Knob(int, "bytes", None, "of QUIC alone", protocols=("h3",)),
    },
)
ALL = replace(CATALOGUE, stacks={**CATALOGUE.stacks, "go": ABLE})


def test_such_an_arm_has_settings_of_both(tmp_path: Path) -> None:
    knobs = (
        'protocol = "h3-or-h2"\nconnection = "cold"\ntcp = "stock"\nclient_knobs.delay = 0.3\nserver_knobs.credit = 9'
    )
    plan = make_plan(read_study(study_file(tmp_path, (QUIC[0], knobs)), ALL), catalogue=ALL)
    trial = next(trial for trial in plan.trials if trial.arm == "quic")
    assert (trial.protocol, trial.congestion_control) == ("h3-or-h2", "cubic")
    assert trial.tcp["initial_window_packets"] == 10
    assert trial.client == Endpoint("go", "2.0", {"delay": 0.3})
    assert trial.server == Endpoint("go", "2.0", {"credit": 9})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (QUIC, "congestion_control"),
        ((TCP[0], TCP[1].replace("cold", "0rtt")), "go@2.0 cannot do this over h3-or-h2, but cold"),
        ((TCP[0], TCP[1] + '\nserver = "h3only"'), "server h3only does not speak it, but h3"),
        ((TCP[0], TCP[1] + '\nclient = "browser"'), "client browser does not speak it, but h2, h3"),
        ((TCP[0], TCP[0] + "\nclient_knobs.delay = 0.3"), "means nothing with h3, only with h3-or-h2"),
        ((TCP[0], TCP[0].replace("h3", "h9")), "no stack speaks it"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    file = study_file(tmp_path, change)
    with pytest.raises(InputError, match=message):
        make_plan(read_study(file, ALL), catalogue=ALL)
