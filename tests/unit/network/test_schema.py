"""The schema that the package carries is the router's own."""

import json
import subprocess
from typing import Any

import pytest

from longlook.core.programs import link_program
from longlook.network import schema
from longlook.network import settings as network
from longlook.network.config import link_config
from longlook.study.settings import network_setting
from tests.unit.network.test_settings import BASE, FULL


def test_the_schema_is_what_the_router_prints() -> None:
    said = subprocess.run([link_program().path, "describe"], capture_output=True, text=True, check=True, timeout=30)
    renew = "longlook-link describe | python -m json.tool --indent 1 > src/longlook/network/schema.json"
    assert json.loads(said.stdout) == schema.schema(), renew


LAWS = ["1%", "uniform(0%, 1%, 1s)", "gilbert_elliott(1%, 25%)", "burst(0.1%, 5)", "index(3, 7)"]
QUEUES = ["1bdp", "100packets", "steps(0s 30KB, 1s 15KB, repeat 2s)"]
CASES: list[dict[str, Any]] = [
    FULL,
    *({"network.loss": law} for law in LAWS),
    *({"network.queue": queue} for queue in QUEUES),
    *({"network.aqm": aqm, "network.ecn": aqm != "droptail"} for aqm in network.AQMS),
    *({"network.jitter": "2ms", "network.jitter_law": law} for law in network.JITTER_LAWS),
    {"network.rate": "walk(10Mbit, 1Mbit, 5Mbit, 15Mbit, 1s)", "network.rtt": "uniform(30ms, 40ms, 1s)"},
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_router_takes_every_setting(case: dict[str, Any], tmp_path: Any) -> None:
    """It refuses a configuration before it looks for its interfaces, which do not exist here."""
    settings = {key: network_setting(key, value) for key, value in {**BASE, **case}.items()}
    if settings["network.rate"] == BASE["network.rate"] and settings.get("network.ecn") is False:
        del settings["network.ecn"]
    (tmp_path / "link.json").write_text(json.dumps(link_config(network.link(settings), 1, 0)))
    argv = [link_program().path, "run", "--config", str(tmp_path / "link.json"), "--log", str(tmp_path / "link.bin")]
    done = subprocess.run(
        [*argv, "--client-if", "none-1", "--server-if", "none-2"],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 1, done.stdout  # 2 would be the configuration
