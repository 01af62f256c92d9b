"""Traces: the formats' own rules, errors that name file and line, and a store that knows them by content."""

import json
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longlook.core.errors import InputError
from longlook.core.model import Link, Stage
from longlook.network import settings as network
from longlook.network import trace_store
from longlook.network.config import linger_of, link_config
from longlook.network.router_check import violation_of
from longlook.network.traces import LARGEST_BYTES, Role, TraceError, parse_trace
from longlook.network.varying import mean
from longlook.study.files import read_study
from longlook.study.plan import make_plan
from longlook.study.settings import network_setting
from tests.data.studies import CATALOGUE, STUDY

MS = 1_000_000
ROLES: tuple[Role, ...] = get_args(Role)
SIMPLE = b"# KEEP,LATENCY,RATE,LOSS,LIMIT\nKEEP,LATENCY,RATE,LOSS,LIMIT\n1000,5000000,1000000,0,100\n"
SIMPLE += b"2000,6000000,2000000,4294967295,0\n"
EXTENDED = b"1000,5000000,1000,1000000,0,100,429496729,0,1\n1000,5000000,2000,0,0,50,0,7,2\n"


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path / "cache"))


def test_a_mahimahi_trace_is_a_list_of_opportunities() -> None:
    runs = ((0, 1), (1 * MS, 2), (4 * MS, 1))
    expected = {"opportunities": {"runs": runs, "bytes": 1500, "repeat_ns": 4 * MS}}
    assert parse_trace(b"0\n1\n1\n4\n", "rate", "x") == expected
    assert parse_trace(b"0\r\n1\r\n1\r\n4", "rate", "x") == expected
    assert mean(expected) == 12_000_000


def test_a_theaterq_trace_has_a_column_for_each_setting() -> None:
    found = {role: parse_trace(SIMPLE, role, "x") for role in ("rate", "delay", "loss", "queue")}
    assert found["rate"] == {"steps": ((0, 1_000_000), (MS, 2_000_000)), "repeat_ns": 3 * MS}
    assert found["delay"] == {"steps": ((0, 5_000_000), (MS, 6_000_000)), "repeat_ns": 3 * MS}
    assert found["loss"] == {"steps": ((0, 0.0), (MS, 1.0)), "repeat_ns": 3 * MS}
    assert found["queue"] == {"steps": ((0, 100), (MS, 2**32 - 1)), "repeat_ns": 3 * MS}
    assert parse_trace(EXTENDED, "delay", "x") == {"steps": ((0, 5_000_000),)}
    assert parse_trace(EXTENDED, "jitter", "x")["steps"] == ((0, 1000), (MS, 2000))
    assert parse_trace(EXTENDED, "rate", "x")["steps"][1] == (MS, 10**12)
    assert parse_trace(EXTENDED, "duplicate", "x")["steps"][0][1] == pytest.approx(0.1)


def test_a_trace_of_lost_packets() -> None:
    assert parse_trace(b"0 0 1\n000\n\n1", "loss", "x") == "0010001"


@pytest.mark.parametrize(
    ("data", "role", "reason"),
    [
        (b"", "rate", "x: empty"),
        (b"\n\n", "loss", "x: empty"),
        (b"5\n3\n", "rate", "x:2: 3 ms comes after 5 ms; stamps must not decrease"),
        (b"0\n0\n", "rate", "x:2: the last stamp is 0"),
        (b"1\n\n2\n", "rate", "x:2: an empty line is not a whole number of milliseconds"),
        (b"1\n-2\n", "rate", "x:2: this is not a whole number"),
        (b"1.5\n", "rate", "x:1: this is not a whole number"),
        (b"1\n999999999999\n", "rate", "x:2: 999999999999 ms; allowed: at most a week"),
        (b"1" * 5000, "rate", "x:1: this is not"),
        (b"1\n\x00\n", "rate", "x:2: not text (byte 0x00)"),
        (b"1\n2\xff\n", "delay", "x:2: not text (byte 0xff)"),
        (b"\x7fELF", "rate", "x:1: not text (byte 0x7f)"),
        (b"0\n1\n", "delay", "x: no line with commas; allowed: a TheaterQ trace, whose column LATENCY"),
        (b"012\n", "loss", "x:1: allowed: 0 (passes) and 1 (lost)"),
        (b"0,1,2,3,4\n", "rate", "x:1: KEEP is 0"),
        (b"1,1,2\n", "rate", "x:1: 3 numbers; allowed: 5 (KEEP,LATENCY,RATE,LOSS,LIMIT) or 8 to 9"),
        (SIMPLE + EXTENDED, "rate", "x:5: 9 numbers; allowed: 5, as in the lines before"),
        (SIMPLE, "jitter", "x:3: the simple format has no JITTER"),
        (b"1000,0,1,0,1\n", "rate", "x:1: RATE is 1; allowed: 1000 to 1000000000000 bit/s"),
        (b"1000,0,1000,4294967296,1\n", "loss", "x:1: LOSS is 4294967296; allowed: 0 to 4294967295 (100 %)"),
        (b"1000,9999999999999,1000,0,1\n", "delay", "x:1: LATENCY is 9999999999999; allowed: at most"),
        (b"1000,0,1000,0,4294967296\n", "queue", "x:1: LIMIT is 4294967296"),
        (b"1000,0,-1000,0,1\n", "rate", "x:1: this is not a whole number for RATE"),
        (b"99999999999999,0,1000,0,1\n", "rate", "x:1: the trace is longer than a week"),
        (b"1000,0,0,1000,0,1,5,7\n", "duplicate", "x:1: DUP_DELAY is 7; allowed: 0"),
    ],
)
def test_an_error_names_file_and_line(data: bytes, role: Role, reason: str) -> None:
    with pytest.raises(TraceError) as caught:
        parse_trace(data, role, "x")
    assert reason in str(caught.value)


def test_a_huge_file_is_not_even_read(tmp_path: Path) -> None:
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(LARGEST_BYTES + 1)
    with pytest.raises(TraceError, match="huge: cannot be read: it is 67108865 bytes long; allowed: at most 67108864"):
        trace_store.read_trace(tmp_path / "huge", "rate")
    with pytest.raises(TraceError, match="it is a folder"):
        trace_store.read_trace(tmp_path, "rate")
    with pytest.raises(TraceError, match="cannot be read"):
        trace_store.read_trace(Path("a\0b"), "rate")


LINES = st.lists(
    st.one_of(
        st.integers(-3, 10**21).map(str),
        st.lists(st.integers(0, 2**33), min_size=1, max_size=10).map(lambda row: ",".join(map(str, row))),
        st.sampled_from(["", "#", "0101", "1\r", " 2", "１", "0x10", "1e3", "+1", "²"]),
        st.text(max_size=4),
    ),
    max_size=6,
).map(lambda lines: "\n".join(lines).encode("utf-8", "surrogatepass"))


@settings(max_examples=400)
@given(st.one_of(st.binary(max_size=60), LINES), st.sampled_from(ROLES))
def test_any_bytes_are_a_trace_or_the_declared_error(data: bytes, role: Role) -> None:
    try:
        found = parse_trace(data, role, "x")
    except TraceError as error:
        assert str(error).startswith("x:")
        return
    text = json.loads(json.dumps(found))
    kind, name = {
        "rate": ("rate", "rate_bps"),
        "delay": ("delay", "delay_ns"),
        "jitter": ("jitter", "jitter_ns"),
        "loss": ("loss", "probability"),
        "queue": ("rate", "queue_packets"),
        "duplicate": ("loss", "probability"),
    }[role]
    if isinstance(text, str):
        assert set(text) <= {"0", "1"}
        return
    others: dict[str, Any] = {"rate": {"rate_bps": 1000}, "jitter": {"reorder": False}}.get(kind, {})
    refused = violation_of(Link((Stage(kind, {**others, name: text}),), ()))
    # A file may be slower than a link can be; then the study that names it is refused before it runs.
    assert refused is None or "the mean rate is" in refused.message


@settings(max_examples=100)
@given(st.lists(st.integers(0, 5000), min_size=1, max_size=50).map(sorted).filter(lambda stamps: stamps[-1] > 0))
def test_mahimahi_traces_round_trip(stamps: list[int]) -> None:
    found = parse_trace("".join(f"{stamp}\n" for stamp in stamps).encode(), "rate", "x")["opportunities"]
    assert [at_ns // MS for at_ns, count in found["runs"] for _ in range(count)] == stamps
    assert found["repeat_ns"] == stamps[-1] * MS


ENTRIES = st.tuples(st.integers(1, 10**6), st.integers(0, 10**9), st.integers(1000, 10**9), st.integers(0, 2**32 - 1))


@settings(max_examples=100)
@given(st.lists(ENTRIES, min_size=1, max_size=30))
def test_theaterq_traces_round_trip(entries: list[tuple[int, int, int, int]]) -> None:
    data = "".join(f"{keep},{latency},{rate},{loss},7\n" for keep, latency, rate, loss in entries).encode()
    found = {role: parse_trace(data, role, "x") for role in ("rate", "delay", "loss")}
    at_ns = 0
    for keep, latency, rate, loss in entries:
        now = {role: [v for at, v in value["steps"] if at <= at_ns][-1] for role, value in found.items()}
        assert now == {"rate": rate, "delay": latency, "loss": loss / (2**32 - 1)}
        at_ns += keep * 1000
    assert all(value.get("repeat_ns", at_ns) == at_ns for value in found.values())


def trace_file(folder: Path, text: str = "0\n1\n1\n4\n", name: str = "cell.trace") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return folder / name


def test_the_same_content_is_the_same_condition(tmp_path: Path) -> None:
    one, other = trace_file(tmp_path / "a"), trace_file(tmp_path / "b", "0\r\n1\r\n1\r\n4")
    found = {network_setting("network.rate", f"trace({path})") for path in (one, other, f'"{one}"')}
    assert len(found) == 1
    assert network_setting("network.rate", found.copy().pop()) == found.pop()


def test_the_router_reads_the_trace_in_full(tmp_path: Path) -> None:
    path = trace_file(tmp_path, SIMPLE.decode(), "star.csv")
    text = {key: network_setting(f"network.{key}", f"trace({path})") for key in ("rate", "queue", "loss")}
    keys = {f"network.{key}": value for key, value in text.items()}
    delay = {f"network.{side}.delay": network_setting("network.up.delay", f"trace({path})") for side in ("up", "down")}
    link = network.link({**keys, **delay})
    assert len(set(link.traces())) == 4
    config = json.loads(json.dumps(link_config(link, 1, 0)))
    assert [stage["kind"] for stage in config["down"]] == ["loss", "rate", "delay"]
    assert config["down"][1]["parameters"]["rate_bps"]["steps"] == [[0, 1_000_000], [MS, 2_000_000]]
    assert config["down"][1]["parameters"]["queue_packets"]["repeat_ns"] == 3 * MS
    assert linger_of(link) == 50 * MS
    assert linger_of(Link((Stage("delay", {"delay_ns": {"uniform": {"maximum": 80 * MS, "minimum": 0}}}),), ())) == (
        160 * MS
    )


def test_a_pattern_of_losses_is_a_stage_of_its_own(tmp_path: Path) -> None:
    text = network_setting("network.loss", f"trace({trace_file(tmp_path, '0001')})")
    settings = {"network.rate": "10Mbit", "network.rtt": "36ms", "network.loss": text}
    link = network.unchecked_link(settings)
    assert link.up[0].kind == "loss_trace"
    assert link_config(link, 1, 0)["up"][0] == {"kind": "loss_trace", "parameters": {"pattern": "0001"}}


def study_with_a_trace(folder: Path) -> Path:
    trace_file(folder / "traces")
    path = folder / "traced.toml"
    document = STUDY.replace("[network]", '[network]\nup.rate = "trace(traces/cell.trace)"')
    path.write_text(document.replace('levels = ["10Mbit",', 'levels = ["trace(traces/cell.trace)", "10Mbit",'))
    return path


def test_a_study_s_traces_count_from_its_file_and_are_not_needed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = study_with_a_trace(tmp_path / "studies")
    study = read_study(path, CATALOGUE)
    plan = make_plan(study, catalogue=CATALOGUE)
    digest = next(plan.trials[0].traces())
    assert study.traces == {f"rate {tmp_path / 'studies' / 'traces' / 'cell.trace'}": digest}
    assert study.settings["network.up.rate"] == f"trace({digest})"
    assert "trace(traces/cell.trace)" in {level.label for factor in study.factors for level in factor.levels}
    laid = trace_store.lay([digest, digest], tmp_path / "run" / "traces")
    assert list(laid) == [digest]
    (tmp_path / "studies" / "traces" / "cell.trace").unlink()
    with pytest.raises(InputError, match=r"network.up.rate = .*cannot be read: No such file"):
        read_study(path, CATALOGUE)
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path / "another"))
    trace_store.adopt(tmp_path / "run" / "traces")
    again = read_study(path, CATALOGUE, traces=study.traces)
    assert make_plan(again, catalogue=CATALOGUE).hash == plan.hash
    assert trace_store.lay([digest], tmp_path / "run" / "traces") == laid


def test_errors_of_a_study_s_trace_name_the_key_the_file_and_the_line(tmp_path: Path) -> None:
    path = study_with_a_trace(tmp_path)
    trace_file(tmp_path / "traces", "5\n3\n")
    with pytest.raises(InputError) as caught:
        read_study(path, CATALOGUE)
    assert "traced.toml: network.up.rate" in caught.value.message
    assert "cell.trace:2: 3 ms comes after 5 ms" in caught.value.message
    with pytest.raises(InputError, match=r"network\.down\.rate.*nowhere\.trace: cannot be read"):
        read_study(path, CATALOGUE, changes={"network.down.rate": "trace(nowhere.trace)"})


def test_a_damaged_or_lost_trace_is_an_input_error(tmp_path: Path) -> None:
    digest = trace_store.digest_of(str(trace_file(tmp_path)), "rate")
    kept = next(trace_store.folder().glob("*.json"))
    kept.write_text("{}")
    with pytest.raises(InputError, match="damaged: its content does not match its name"):
        trace_store.load(digest)
    kept.unlink()
    with pytest.raises(InputError, match="is not there"):
        trace_store.load(digest)


def test_a_file_that_the_kernel_makes_up_is_refused_at_once() -> None:
    """As root, a read of /proc/kmsg never ends."""
    for path in ("/proc/kmsg", "/proc/self/environ", "/dev/zero"):
        with pytest.raises(TraceError, match=r"cannot be read: it is (empty, or made up by the kernel|a device)"):
            trace_store.digest_of(path, "rate")
