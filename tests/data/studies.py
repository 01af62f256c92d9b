"""A small catalogue and a small study file for the tests of study and plan."""

from pathlib import Path
from typing import Any

import pytest

from longlook.core.errors import InputError
from longlook.core.job import Content, Program
from longlook.core.model import Better, ConnectionState, Study
from longlook.core.stack import Knob, Stack, Version
from longlook.core.workload import Parameter, WorkloadKind
from longlook.metrics import Metric
from longlook.study.catalogue import Catalogue
from longlook.study.files import read_study

ALL_STATES = tuple(ConnectionState)


def _never(*_: object) -> Any:
    raise AssertionError("reading and planning install nothing, prepare nothing and measure nothing")


def _install(version: str) -> Program:
    return _never(version)


def _prepare(parameters: object) -> Content:
    return _never(parameters)


def _stack(name: str, roles: tuple[str, ...], versions: tuple[str, ...], **other: Any) -> Stack:
    settings: dict[str, Any] = {"protocols": ("h2", "h3"), "connections": ALL_STATES, "knobs": {}, **other}
    return Stack(
        name,
        name,
        roles,
        versions=tuple(Version(name, "") for name in versions),
        log_formats=(),
        install=_install,
        **settings,
    )


KNOBS = {
    "window": Knob(int, "bytes", 65536, "receive window", minimum=1024, maximum=2**30),
    "gso": Knob(bool, None, None, "segmentation offload"),
    "pacing": Knob(float, None, None, "pacing gain"),
    "streams": Knob(int, "streams", None, "streams at once", ("server",), minimum=1),
    "cc": Knob(str, None, None, "congestion control", choices=("reno", "cubic"), usual="cubic"),
    "cut": Knob(float, "ratio", None, "share left after a loss", only_with={"cc": ("reno",)}),
}

CATALOGUE = Catalogue(
    stacks={
        "go": _stack("go", ("server", "client"), ("1.0", "2.0"), knobs=KNOBS, several_connections=True, waits=True),
        "browser": _stack("browser", ("client",), ("system",), connections=(ConnectionState.COLD,)),
        "h3only": _stack("h3only", ("server", "client"), ("9",), protocols=("h3",)),
    },
    workloads={
        "page": WorkloadKind(
            "page",
            "a page",
            {
                "objects": Parameter("count", "number of objects", minimum=1, maximum=1000),
                "object_bytes": Parameter("size", "bytes of each", minimum=68),
                "think": Parameter("time", "pause", default=0.0),
            },
            _prepare,
        ),
        "fetch": WorkloadKind(
            "fetch",
            "files over several connections",
            {
                "object_bytes": Parameter("size", "bytes of each", minimum=1),
                "connections": Parameter(
                    "count", "connections at once", default=1, minimum=1, maximum=64, omitted_at_default=True
                ),
                "warm_s": Parameter("time", "before the first request", default=0, minimum=0, omitted_at_default=True),
            },
            _prepare,
        ),
    },
    metrics={
        name: Metric(name, name, "s", Better.LOWER, (), _never, name) for name in ("page_load_time", "handshake_time")
    },
)

STUDY = """
schema = 1
title = "A title"
question = "Is it?"
rounds = 3
seed = 7
around = "none"
timeout = "30s"
metrics = ["page_load_time", "handshake_time"]

[arms.tcp]
label = "TCP"
protocol = "h2"
connection = "cold"
congestion_control = "cubic"

[arms.quic]
protocol = "h3"
connection = "cold"

[defaults]
server = "go"
client = "go"

[workload]
kind = "page"
objects = 1

[network]
rtt = "36ms"

[[factors]]
name = "rate"
sets = "network.rate"
levels = ["10Mbit", "50 Mbit/s"]

[[factors]]
name = "size"
levels = [{ label = "small", workload.object = "5KB" }, { label = "large", "workload.object" = "1MB" }]

[[contrasts]]
name = "quic vs tcp"
baseline = "tcp"
contender = "quic"
metric = "page_load_time"

[[claims]]
id = "fig1"
source = "somebody"
contrast = "quic vs tcp"
uncertainty = "2%"
clipped_at = "99%"
rows = "rate"
columns = "size"
effect_pct."10Mbit" = { small = 45, large = "ns" }
"""


def study_file(folder: Path, *replacements: tuple[str, str], more: str = "", name: str = "tiny") -> Path:
    """STUDY as a file, with some texts replaced and some added."""
    text = STUDY
    for old, new in replacements:
        assert old in text, old
        text = text.replace(old, new, 1)
    path = folder / f"{name}.toml"
    path.write_text(text + more, encoding="utf-8")
    return path


def read(path: Path, **options: object) -> Study:
    """The study of a file, by the small catalogue."""
    return read_study(path, CATALOGUE, **options)  # type: ignore[arg-type]


def problems(path: Path, **options: object) -> list[str]:
    """The lines of the error that reading a file gives."""
    with pytest.raises(InputError) as caught:
        read(path, **options)
    assert caught.value.exit_code == 2
    return caught.value.message.splitlines()
