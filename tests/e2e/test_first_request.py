"""Early data and Fast Open over TCP: each spares the round trip that it should."""

from pathlib import Path

import pandas as pd
import pytest

from tests.support.command_line import longlook

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(900)]

_RTT_S = 0.1


def test_early_data_and_fast_open_spare_a_round_trip_each(tmp_path: Path) -> None:
    only = ("--only", "rtt=100ms", "--only", "size=10KB")
    out = tmp_path / "run"
    answer = longlook("run", "first-request", "--rounds", "1", "--around", "none", *only, "--out", str(out))
    assert answer.returncode == 0, answer.stderr
    samples = pd.read_parquet(out / "samples.parquet")
    assert set(samples.outcome) == {"ok"}, samples.reason.unique()
    loads_s = samples[samples.metric == "page_load_time"].set_index("arm").value
    assert loads_s["tcp"] == pytest.approx(loads_s["tcp-resumed"], abs=0.1 * _RTT_S)
    assert loads_s["tcp-resumed"] - loads_s["tcp-early"] == pytest.approx(_RTT_S, rel=0.1)
    assert loads_s["tcp-early"] - loads_s["tcp-open"] == pytest.approx(_RTT_S, rel=0.1)
    assert loads_s["tcp-open"] == pytest.approx(loads_s["quic-early"], abs=0.1 * _RTT_S)
