from dataclasses import replace

import pytest

from longlook.core.errors import InputError
from longlook.core.model import Capture, Endpoint, Plan
from longlook.study.virtual_time import check_remote
from tests.data.samples import study
from tests.data.trials import TRIAL

PHONE = replace(TRIAL, client=Endpoint("chromium-remote", "phone"))


def check(default: str = "live", /, **changes: object) -> None:
    check_remote(study(), Plan("made-up", "hash", (TRIAL, replace(PHONE, **changes))), default)  # type: ignore[arg-type]


def test_a_browser_on_another_machine_runs_in_real_time() -> None:
    check()
    check("virtual", engine="live")
    with pytest.raises(
        InputError, match="chromium-remote is a browser on another machine, whose time is real"
    ) as caught:
        check("virtual")
    assert caught.value.hint is not None
    assert "--engine live" in caught.value.hint


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"client_cpu_share": 0.1}, "which client_cpu cannot limit"),
        ({"capture": Capture(netlog=True)}, "keeps its netlog on its own machine"),
        ({"capture": Capture(keylog=True)}, "keeps its keylog on its own machine"),
    ],
)
def test_what_is_on_the_other_machine_is_not_ours_to_set_or_to_record(changes: dict[str, object], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        check(**changes)


def test_other_clients_are_not_asked() -> None:
    check_remote(study(), Plan("made-up", "hash", (replace(TRIAL, client_cpu_share=0.1),)), "virtual")
