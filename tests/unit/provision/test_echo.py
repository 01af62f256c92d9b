"""What an echo asks its client to send."""

from pathlib import Path

import pytest

from longlook.core import codec
from longlook.core.errors import InputError
from longlook.core.job import Content, Echo, Identity
from longlook.core.model import ConnectionState
from longlook.core.stack import ClientJob
from longlook.workloads.echo import WORKLOAD

SOUND = {"payload": "1200B to 1210B by 5B", "tries": 3, "interval_s": 0.5}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path))


def test_sizes_tries_and_interval_reach_the_job_and_nothing_is_fetched() -> None:
    content = WORKLOAD.prepare(SOUND)
    assert (content.phases, content.expected) == ((), {})
    assert content.echo == Echo((1200, 1205, 1210), 3, 0.5)
    assert codec.decode(Content, codec.encode(content)) == content
    identity = Identity("h", "ca", "c", "k", "s")
    job = ClientJob("udp-echo", ConnectionState.COLD, "10.8.0.2", 443, (), identity, {}, 9.0, echo=content.echo)
    assert job.data()["echo"] == {"payloads": [1200, 1205, 1210], "tries": 3, "interval_s": 0.5}
    assert "echo" not in ClientJob("h3", ConnectionState.COLD, "10.8.0.2", 443, (), identity, {}, 9.0).data()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tries": 0}, "tries = 0"),
        ({"tries": 101}, "tries = 101"),
        ({"interval_s": 0.001}, "interval = 0.001s"),
        ({"payload": "10B"}, "10 bytes"),
    ],
)
def test_what_is_out_of_bounds_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        WORKLOAD.prepare({**SOUND, **changes})  # type: ignore[dict-item]
