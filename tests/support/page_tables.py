"""Tables of effects in documents: what their rows and columns stand for in the atlas's entries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Place = Mapping[str, str]
"""The place of a value: levels by factor, the contrast's name as `contrast`, and BASELINE as `arm` for its median.

With `metric` it is the median of the arm `arm` instead of an effect.
"""
BASELINE = "baseline"


@dataclass(frozen=True)
class Table:
    """A table of a document: the line that it begins with, the study, and where its rows and columns are.

    Rows are found by their labels, all cells left of the columns; those that are not named are of something else, and
    so are columns that are None. A decided cell needs no word, one that is not needs its own; `words` is False where
    a table leaves all of them out.
    """

    document: str
    begins: str
    study: str
    rows: Mapping[str, Place]
    columns: Sequence[Place | None]
    words: bool = True
    after: str = ""
    """The text before the table, if several tables begin alike."""


def each(factor: str, *labels: str, **others: str) -> list[Place]:
    """Return a place for each label of a factor."""
    return [{factor: label, **others} for label in labels]


SIZES = each("size", "5KB", "10KB", "100KB", "200KB", "500KB", "1MB", "10MB")
RATES = {f"{rate} Mbit/s": {"rate": f"{rate}Mbit"} for rate in (10, 50, 100)}
TO_1_MB = each("size", "10KB", "100KB", "1MB")
THRESHOLDS = {"TCP": {"contrast": "threshold 3 vs tcp", "arm": BASELINE}} | {
    str(number): {"contrast": f"threshold {number} vs tcp"} for number in (3, 10, 30, 100, 200, 300)
}
QUEUES = each("queue", "0.1bdp", "0.25bdp", "0.5bdp", "1bdp", "2bdp")
TABLES = (
    Table(
        "explanation/processors.md",
        "| | 1 ms | 2 ms |",
        "fast-paths",
        {
            f"{label}bit/s": {"contrast": "quic vs tcp", "rate": f"{label.replace(' ', '')}bit"}
            for label in ("100 M", "200 M", "500 M", "1 G")
        },
        each("rtt", "1ms", "2ms", "5ms", "20ms"),
    ),
    Table(
        "explanation/processors.md",
        "| at 1 Gbit/s, against QUIC as it is |",
        "fast-paths",
        {
            "datagrams are free for both programs": {"contrast": "free datagrams vs usual"},
            "a client ten times as fast": {"contrast": "fast client vs usual"},
            "without segmentation offload": {"contrast": "without GSO vs with"},
            "system calls are free": {"contrast": "free calls vs usual"},
            "few ACKs": {"contrast": "few ACKs vs usual"},
            "packets of 1280 bytes": {"contrast": "small packets vs usual"},
        },
        each("rtt", "1ms", "2ms", "5ms", "20ms", rate="1Gbit"),
    ),
    Table(
        "explanation/processors.md",
        "| 50 Mbit/s | 5 KB |",
        "kakhki2017-fig12",
        {"MotoG, ours": {"phone": "moto-g"}, "Nexus 6, ours": {"phone": "nexus6"}},
        [{**size, "path": "none", "rate": "50Mbit"} for size in SIZES[:6]],
    ),
    Table(
        "explanation/processors.md",
        "| | 5 KB | 10 KB |",
        "kakhki2017-fig12-chromium",
        {
            f"{phone}, {rate} Mbit/s, ours": {
                "phone": phone.replace("MotoG", "moto-g").replace("Nexus 6", "nexus6"),
                "rate": f"{rate}Mbit",
            }
            for phone in ("MotoG", "Nexus 6")
            for rate in (10, 50)
        },
        SIZES,
    ),
    Table(
        "results/cpu.md",
        "| rate | client's computing |",
        "slow-clients",
        {
            f"{rate} Mbit/s | {label}": {
                "rate": f"{rate}Mbit",
                "client": "off" if label == "free" else f"{label.split()[0]} * server-core",
            }
            for rate, labels in ((10, ("40 ×",)), (50, ("free", "5 ×", "10 ×", "20 ×", "40 ×")))
            for label in labels
        },
        each("size", "100KB", "1MB", "5MB"),
    ),
    Table(
        "results/cpu.md",
        "| share, beside a processor of | 1 MB, share |",
        "slow-clients-live",
        {
            label: {"client": label.split(",")[0].replace(" ", "").replace("allitlikes", "off")}
            for label in ("all it likes", "20 %, 5 ×", "10 %, 10 ×", "5 %, 20 ×", "2.5 %, 40 ×")
        },
        [{"size": "1MB"}, None, {"size": "5MB"}, None],
        words=False,
    ),
    Table(
        "results/cpu.md",
        "| share, beside a processor of | 1 MB, share |",
        "slow-clients",
        {
            label: {"client": "off" if label.startswith("all") else f"{label.split()[2]} * server-core"}
            for label in ("all it likes", "20 %, 5 ×", "10 %, 10 ×", "5 %, 20 ×", "2.5 %, 40 ×")
        },
        [None, {"size": "1MB", "rate": "50Mbit"}, None, {"size": "5MB", "rate": "50Mbit"}],
    ),
    Table(
        "results/papers.md",
        "| QUIC 0-RTT against |",
        "first-request",
        {
            "TCP, resumed": {"contrast": "0-RTT vs resumed TCP"},
            "TCP with early data": {"contrast": "0-RTT vs TCP with early data"},
            "TCP with early data and Fast Open": {"contrast": "0-RTT vs TCP with Fast Open"},
        },
        [{**size, "rtt": rtt} for rtt in ("20ms", "100ms") for size in TO_1_MB],
    ),
    Table(
        "results/kakhki2017.md",
        "| page load time, 50 Mbit/s |",
        "reordering-undo",
        {
            "Cubic that takes reductions back, against Cubic that keeps them": {
                "contrast": "Cubic, taken back vs kept"
            },
            "Reno, the same": {"contrast": "Reno, taken back vs kept"},
            "the paper's sender (threshold of 3 for good, Cubic for two), the same": {
                "contrast": "fixed threshold, taken back vs kept"
            },
            "Cubic that keeps them, against TCP": {"contrast": "Cubic kept vs tcp"},
            "Cubic that takes them back, against TCP": {"contrast": "Cubic taken back vs tcp"},
            "Reno that takes them back, against TCP": {"contrast": "Reno taken back vs tcp"},
        },
        each("size", "500KB", "1MB", "10MB", rate="50Mbit"),
    ),
    Table(
        "results/papers.md",
        "| 1 MB in sequence, at 100 Mbit/s |",
        "demello2022-http10",
        {
            "QUIC against HTTP/1.0": {"contrast": "quic vs http/1.0"},
            "HTTP/2 against HTTP/1.0: one connection instead of one for each file": {
                "contrast": "one connection vs one for each file"
            },
            "QUIC against HTTP/2": {"contrast": "quic vs tcp"},
        },
        each("files", "200x5KB", "100x10KB", "10x100KB", "2x500KB", "1x1MB", rate="100Mbit"),
        words=False,
    ),
    Table(
        "results/kakhki2017.md",
        "| threshold |",
        "kakhki2017-fig10",
        THRESHOLDS,
        [place for rate in (10, 50, 100) for place in ({"rate": f"{rate}Mbit"}, None)],
    ),
    Table(
        "results/kakhki2017.md",
        "| sender | steady |",
        "reordering-by-stack",
        {
            "TCP (Linux)": {"contrast": "ngtcp2 vs tcp", "arm": BASELINE},
            "ngtcp2": {"contrast": "ngtcp2 vs tcp"},
            "quiche": {"contrast": "quiche vs tcp"},
            "Google's QUIC (Envoy)": {"contrast": "google vs tcp"},
            "quic-go, which adapts": {"contrast": "quic-go vs tcp"},
            "quinn": {"contrast": "quinn vs tcp"},
            "quic-go with a fixed threshold": {"contrast": "quic-go-fixed vs tcp"},
        },
        each("path", "steady", "in order", "overtaking", "overtaking"),
    ),
    Table(
        "results/kakhki2017.md",
        "| queue, in bandwidth-delay products |",
        "kakhki2017-large-objects",
        {f"{rate} Mbit/s, quic-go": {"contrast": "quic vs tcp", "rate": f"{rate}Mbit"} for rate in (50, 100)},
        QUEUES,
        words=False,
    ),
    Table(
        "results/fairness.md",
        "| QUIC's Cubic acts for |",
        "corbel2019-emulation",
        {
            "one connection": {"connections": "1", "contrast": "share: quic vs tcp"},
            "two": {"connections": "2", "contrast": "share: quic vs tcp"},
            "four": {"connections": "4", "contrast": "share: quic vs tcp"},
        },
        [None, {"tcp": "1"}, None, {"tcp": "2"}, None],
    ),
)

SHARE = "share_of_used"
BUFFERS = each("buffer", "0.25bdp", "0.5bdp", "1bdp", "2bdp", "4bdp", "8bdp", metric=SHARE)
PATHS = [
    {"rtt": rtt, "buffer": buffer, "metric": SHARE}
    for rtt in ("10ms", "50ms")
    for buffer in ("0.5bdp", "1bdp", "3bdp", "5bdp")
]
LEVELS = (
    Table(
        "results/fairness.md",
        "| QUIC against |",
        "kakhki2017-tab4",
        {"1 TCP": {"against": "1 TCP"}, "2 TCP": {"against": "2 TCP"}, "4 TCP": {"against": "4 TCP"}},
        [{"arm": "quic", "metric": SHARE}, {"arm": "tcp", "metric": SHARE}, None, None, None],
    ),
    Table(
        "results/fairness.md",
        "| QUIC |",
        "kakhki2017-fair-buffer",
        {
            "Google's, Cubic for two": {"arm": "google-cubic"},
            "Google's, BBR": {"arm": "google-bbr"},
            "quic-go (Reno, to 0.7)": {"arm": "quic-go"},
            "a TCP flow (Cubic)": {"arm": "tcp"},
        },
        BUFFERS,
    ),
    Table(
        "results/fairness.md",
        "| QUIC's Cubic acts for |",
        "corbel2019-emulation",
        {
            "one connection": {"connections": "1", "arm": "quic"},
            "two": {"connections": "2", "arm": "quic"},
            "four": {"connections": "4", "arm": "quic"},
        },
        [{"tcp": "1", "metric": SHARE}, None, {"tcp": "2", "metric": SHARE}, None, None],
    ),
    Table(
        "results/fairness.md",
        "| QUIC's share beside |",
        "demello2022-fairness",
        {
            "1 Mbit/s": {"rate": "1Mbit", "arm": "quic"},
            "5 Mbit/s": {"rate": "5Mbit", "arm": "quic"},
            "10 Mbit/s": {"rate": "10Mbit", "arm": "quic"},
            "5 Mbit/s, a TCP flow in its place": {"rate": "5Mbit", "arm": "tcp"},
        },
        each("tcp", "1", "2", "3", "5", metric=SHARE),
    ),
    Table(
        "results/fairness.md",
        "| half of the flows | share of its half",
        "flows-200",
        {
            "TCP (Cubic)": {"arm": "tcp"},
            "QUIC (Cubic for two connections)": {"arm": "quic"},
            "QUIC (Cubic for one)": {"arm": "quic-cubic"},
        },
        [*each("flows", "10 and 10", "100 and 100", metric=SHARE), None, None],
    ),
    Table(
        "results/congestion-control.md",
        "| sender | 10 ms: 0.5 BDP |",
        "mishra-conformance",
        {
            "kernel": {"arm": "kernel"},
            "quic-go": {"arm": "quic-go"},
            "quinn": {"arm": "quinn"},
            "ngtcp2": {"arm": "ngtcp2"},
            "Google's, for two connections": {"arm": "google"},
            "quiche": {"arm": "quiche"},
        },
        [*PATHS, None],
        after="**At 10 ms Cubic is the kernel's",
    ),
)
