"""Named paths from published work: settings of the network that a study or a command begins from.

Each value is from the source, or its notes call it a choice. A setting of the study overrides the preset's: `network.X`
overrides the preset's values of both directions, and `network.rtt` its delays.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from longlook.core import Scalar

PRESET = "network.preset"


@dataclass(frozen=True)
class Preset:
    """A path by name. `settings` are by the keys of a study; `needs` are keys for which its source has no value.

    `source` names authors, title and year of a publication or a measurement.
    """

    name: str
    summary: str
    source: str
    settings: Mapping[str, Scalar]
    notes: str = ""
    needs: tuple[str, ...] = field(default=())


_KAKHKI = "Kakhki et al., Taking a Long Look at QUIC, IMC 2017, table 5"
_KAKHKI_NOTES = (
    "The table's throughput is taken as the rate of both directions, since no other is given. It has no queue: 30KB is "
    "the queue of the paper's own bottleneck (fig. 4), since 1bdp would be {packets} packets. The depth of "
    "reordering is not stated: reorder_depth is the default. The RTT's standard deviation, {deviation} ms, is one "
    "between measurements and is left out: set network.jitter for it."
)
_LANGLEY = "Langley et al., The QUIC Transport Protocol, SIGCOMM 2017, table 3 (page 192)"
_LANGLEY_NOTES = (
    "The RTT is the mean of the minimal RTTs. The mean TCP retransmission rate is a rate of the servers, so it is the "
    "loss of `down`; it counts packets that queues dropped, too, so it is an upper bound. The table has no rate: set "
    "network.rate. It has no queue: the default, 1bdp."
)
_WOLSING = "Wolsing et al., A Performance Perspective on Web Optimized Protocol Stacks, ANRW 2019, table of networks"
_WOLSING_NOTES = (
    "Quoted second-hand and not compared with the paper itself, the queue above all: {ms} ms at each direction's rate. "
    "The loss is the loss of each direction, which is a choice."
)
_ENDRES = (
    "Endres et al., Performance of QUIC Implementations Over Geostationary Satellite Links, 2022 (arXiv 2202.08228), "
    "and the scenarios `sat` and `satloss` of its interop runner (testcases.py)"
)
_ENDRES_NOTES = "20 Mbit/s forward is `down`. Delay 300 ms each way and queues of 25 packets are the runner's."
_NARAYANAN = (
    "Narayanan et al., A Variegated Look at 5G in the Wild, SIGCOMM 2021, its published data "
    "(github.com/SIGCOMM21-5G/artifact, September 2021)"
)
_NARAYANAN_STILL_NOTES = (
    "Medians of {tests} Speedtests with several connections to servers within 50 km, in 2020 and 2021 "
    "(dataset_speedtest_ookla_full.csv), computed here. {carrier}. Throughputs are taken as rates, so they are lower "
    "bounds. The latency is the latency of an idle link. No loss and no queue are given: none, and the default, 1bdp."
)
_NARAYANAN_MOVING_NOTES = (
    "Download rates of Lumos5G, a sample per second (Video-Streaming/Network-Traces): the bounds are the quartiles of "
    "{samples} samples, so half of them were beyond. {zero} were below 1 Mbit/s, and the preset has none of these. A "
    "rate holds for the time that gives neighbouring seconds the correlation of the samples, {correlation}; that it is "
    "drawn evenly is a choice. Rate up and RTT are taken from {still}, of the same carrier."
)
_RACA = (
    "Raca et al., Beyond Throughput, The Next Generation: a 5G Dataset with Channel and Context Metrics, MMSys 2020, "
    "its published data (github.com/uccmisl/5Gdataset, June 2020)"
)
_RACA_NOTES = (
    "Downloads over an Irish network: the bounds are the quartiles of {samples} samples of a second{which}, computed "
    "here, so half of them were beyond. A rate holds for the time that gives neighbouring seconds the correlation of "
    "the samples, {correlation}; that it is drawn evenly is a choice. The RTT is the median ping during the download. "
    "Its rate up is the rate of acknowledgements: set network.up.rate. The data has no lost pings and no queue: 1bdp."
)

_HUITEMA = (
    "Huitema, picoquic, 2026, the link scenarios of its network simulator (github.com/private-octopus/picoquic, "
    "picoquic_ns.c), on the path of its own tests of congestion control (cc_ns_*_test)"
)
_HUITEMA_NOTES = (
    "10 Mbit/s, 40 ms each way and a queue of at most 80 ms are of the tests. Times count from the first packet, as in "
    "the simulator. "
)


def _cellular(name: str, what: str, rate: str, rtt_ms: int, deviation_ms: int, reorder: str, loss: str) -> Preset:
    kilobits = float(rate.removesuffix("Mbit")) * 1000
    return Preset(
        f"kakhki2017-{name}",
        f"{what}: {rate}, {rtt_ms} ms, {reorder} reordered, {loss} lost",
        _KAKHKI,
        {
            "network.rate": rate,
            "network.rtt": f"{rtt_ms}ms",
            "network.queue": "30KB",
            "network.loss": loss,
            "network.reorder": reorder,
        },
        _KAKHKI_NOTES.format(packets=round(kilobits * rtt_ms / 8 / 1500, 1), deviation=deviation_ms),
    )


def _country(name: str, what: str, rtt_ms: int, loss: str) -> Preset:
    return Preset(
        f"langley2017-{name}",
        f"{what}: {rtt_ms} ms, {loss} retransmitted; no rate",
        _LANGLEY,
        {"network.rtt": f"{rtt_ms}ms", "network.down.loss": loss},
        _LANGLEY_NOTES,
        needs=("network.rate",),
    )


def _access(name: str, what: str, down: str, up: str, rtt_ms: int, loss: str, queue: tuple[int, str, str]) -> Preset:
    queue_ms, down_queue, up_queue = queue
    return Preset(
        f"wolsing2019-{name}",
        f"{what}: {down} down, {up} up, {rtt_ms} ms, {loss} lost, queue {queue_ms} ms",
        _WOLSING,
        {
            "network.down.rate": down,
            "network.up.rate": up,
            "network.rtt": f"{rtt_ms}ms",
            "network.loss": loss,
            "network.down.queue": down_queue,
            "network.up.queue": up_queue,
        },
        _WOLSING_NOTES.format(ms=queue_ms),
    )


def _satellite(name: str, what: str, loss: str) -> Preset:
    return Preset(
        f"endres2022-{name}",
        f"{what}: 20Mbit down, 2Mbit up, 600 ms, {loss} lost, 25 packets",
        _ENDRES,
        {
            "network.down.rate": "20Mbit",
            "network.up.rate": "2Mbit",
            "network.rtt": "600ms",
            "network.loss": loss,
            "network.queue": "25packets",
        },
        _ENDRES_NOTES,
    )


def _still(name: str, what: str, down: str, up: str, rtt_ms: int, tests: int, carrier: str) -> Preset:
    return Preset(
        f"narayanan2021-{name}",
        f"{what}, standing still: {down} down, {up} up, {rtt_ms} ms",
        _NARAYANAN,
        {"network.down.rate": down, "network.up.rate": up, "network.rtt": f"{rtt_ms}ms"},
        _NARAYANAN_STILL_NOTES.format(tests=tests, carrier=carrier),
    )


def _moving(name: str, what: str, down: str, still: Preset, *samples: str) -> Preset:
    count, zero, correlation = samples
    return Preset(
        f"narayanan2021-{name}",
        f"{what}: rate down {down}; else as {still.name}",
        _NARAYANAN,
        {**still.settings, "network.down.rate": down},
        _NARAYANAN_MOVING_NOTES.format(samples=count, zero=zero, correlation=correlation, still=still.name),
    )


def _irish(name: str, what: str, down: str, rtt_ms: int, *samples: str) -> Preset:
    count, which, correlation = samples
    return Preset(
        f"raca2020-{name}",
        f"{what}: rate down {down}, {rtt_ms} ms; no rate up",
        _RACA,
        {"network.down.rate": down, "network.rtt": f"{rtt_ms}ms"},
        _RACA_NOTES.format(samples=count, which=which, correlation=correlation),
        needs=("network.up.rate",),
    )


def _changing(name: str, what: str, rate: str, notes: str, **settings: Scalar) -> Preset:
    return Preset(
        f"huitema2026-{name}",
        what,
        _HUITEMA,
        {
            "network.rate": rate,
            "network.rtt": "80ms",
            "network.queue": "100KB",
            **{f"network.{key}": value for key, value in settings.items()},
        },
        _HUITEMA_NOTES + notes,
    )


_MMWAVE = _still("mmwave", "5G, millimetre waves", "1922Mbit", "88.7Mbit", 7, 77, "Verizon, beside LTE (NSA)")
_LTE = _still("lte", "LTE", "81.8Mbit", "33.7Mbit", 22, 9, "Verizon, from phones with 5G")

_ALL = (
    _cellular("verizon-3g", "Verizon 3G, tethered", "0.17Mbit", 109, 20, "9%", "0.05%"),
    _cellular("verizon-lte", "Verizon LTE, tethered", "4Mbit", 62, 14, "0.25%", "0%"),
    _cellular("sprint-3g", "Sprint 3G, tethered", "0.31Mbit", 70, 39, "1.38%", "0.02%"),
    _cellular("sprint-lte", "Sprint LTE, tethered", "2.4Mbit", 55, 11, "0.13%", "0.02%"),
    _country("south-korea", "South Korea as Google's servers saw it", 38, "1%"),
    _country("usa", "USA as Google's servers saw it", 50, "2%"),
    _country("india", "India as Google's servers saw it", 188, "8%"),
    _access("dsl", "DSL", "25Mbit", "5Mbit", 24, "0%", (12, "37500B", "7500B")),
    _access("lte", "LTE", "10.5Mbit", "2.8Mbit", 74, "0%", (200, "262500B", "70KB")),
    _access("in-flight", "In-flight, direct air to ground (DA2GC)", "468kbit", "468kbit", 262, "3.3%",
            (200, "11700B", "11700B")),
    _access("satellite", "In-flight, satellite (MSS)", "1.89Mbit", "1.89Mbit", 760, "6%", (200, "47250B", "47250B")),
    _satellite("geo", "Geostationary satellite", "0%"),
    _satellite("geo-loss", "Geostationary satellite with loss", "1%"),
    Preset(
        "michel2022-starlink",
        "Starlink from Belgium: 40 to 60 ms, redrawn every 15 s; no rate",
        "Michel et al., Fact checking Starlink's performance figures, APNIC blog, 2022 (round trips); "
        "Huston, A transport protocol's view of Starlink, APNIC blog, 2024 (slots)",
        {"network.up.delay": "uniform(20ms, 30ms, 15s)", "network.down.delay": "uniform(20ms, 30ms, 15s)"},
        "40 and 60 ms are the quartiles of round trips to European anchors in the first months of 2022, so that half "
        "of them were beyond; the smallest was 20 ms. A terminal gets a satellite for slots of 15 s, and the delay "
        "changes with it. An even draw of each slot's delay between the quartiles, each way by itself, is a choice. "
        "Delays drift within a slot, and packets are lost at its end: the preset has neither. "
        "There is no rate: set network.rate.",
        needs=("network.rate",),
    ),
    _MMWAVE,
    _still("low-band", "5G, low band", "123Mbit", "57.1Mbit", 15, 28, "Verizon, beside LTE (NSA)"),
    _still("low-band-alone", "5G, low band without LTE", "35.3Mbit", "37.6Mbit", 57, 15, "T-Mobile, standalone (SA)"),
    _LTE,
    _moving("5g-walking", "5G on foot", "uniform(112Mbit, 904Mbit, 13s)", _MMWAVE, "59748", "2.6 %", "0.923"),
    _moving("5g-driving", "5G in a car", "uniform(98Mbit, 550Mbit, 10.5s)", _MMWAVE, "11235", "2.2 %", "0.905"),
    _moving("lte-walking", "LTE on foot", "uniform(12Mbit, 58Mbit, 23s)", _LTE, "94475", "1.0 %", "0.957"),
    _moving("lte-driving", "LTE in a car", "uniform(15Mbit, 54.5Mbit, 16.3s)", _LTE, "13938", "2.0 %", "0.939"),
    _irish("5g-still", "5G, standing still", "uniform(11.2Mbit, 98.4Mbit, 7.2s)", 69, "15617", "", "0.862"),
    _irish("5g-driving", "5G and what is there without it, in a car", "uniform(2.3Mbit, 19.4Mbit, 8.8s)", 80, "27591",
           ", on whatever network the phone had", "0.886"),
    _changing("black-hole", "Nothing passes from 2 to 4 s", "steps(0s 10Mbit, 2s 0bit, 4s 10Mbit)",
              "Scenario black_hole. Packets in the queue stay there meanwhile."),
    _changing("drop-and-back", "Half the rate from 1.5 to 3.5 s", "steps(0s 10Mbit, 1500ms 5Mbit, 3500ms 10Mbit)",
              "Scenario drop_and_back."),
    _changing("low-and-up", "Half the rate until 2.5 s", "steps(0s 5Mbit, 2500ms 10Mbit)", "Scenario low_and_up."),
    _changing("wifi-fade", "Wi-Fi that is bad from 1 to 3 s: 9 Mbit/s, and jitter of 12 ms",
              "steps(0s 10Mbit, 1s 9Mbit, 3s 10Mbit)",
              "Scenario wifi_fade. Its jitter is 1 and 12 ms of a law of its own; here these are bounds of a uniform "
              "law that keeps the order, which is a choice.",
              jitter="steps(0s 1ms, 1s 12ms, 3s 1ms)"),
    _changing("wifi-suspension", "Wi-Fi that is away for 200 ms in every 2 s",
              "steps(0s 10Mbit, 1800ms 0bit, repeat 2s)",
              "Scenario wifi_suspension: a radio that scans other channels."),
)  # fmt: skip

PRESETS: Mapping[str, Preset] = {preset.name: preset for preset in _ALL}
"""All presets by name."""


def list_presets() -> list[Preset]:
    """Return all presets in the order in which they are shown."""
    return list(_ALL)


def with_preset(settings: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Return the settings, completed by the settings of their preset."""
    name = settings.get(PRESET)
    if name is None:
        return dict(settings)
    below = {key: value for key, value in PRESETS[str(name)].settings.items() if not _overridden(key, settings)}
    return {**below, **settings}


def _overridden(key: str, settings: Mapping[str, Scalar]) -> bool:
    """Return whether a setting for both directions overrides this one of the preset."""
    parts = key.split(".")
    if len(parts) != 3:
        return False
    general = "network.rtt" if parts[2] == "delay" else f"network.{parts[2]}"
    return general in settings
