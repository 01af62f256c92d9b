"""Made-up answers of `longlook explain`, one for each outcome that a page or a sentence has to state."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from longlook.explain.answer import (
    Answer,
    Dose,
    Effect,
    Explained,
    FewestLosses,
    FoundBy,
    Judged,
    LossSearch,
    Screening,
    Status,
    Together,
)
from longlook.explain.attribution import Conclusion, Share
from longlook.explain.cause import Touches
from longlook.explain.failing import Fact, FailedArm

LEDGER_MS: Mapping[str, Mapping[str, float]] = {
    "quic": {
        "handshake": 20.2,
        "request": 10.1,
        "server_think": 1.4,
        "link_useful": 838.3,
        "link_overhead": 41.7,
        "link_waste": 12.5,
        "congestion_window": 1310.6,
        "timer": 212.4,
        "loss_detection": 96.3,
        "propagation": 18.0,
        "unexplained": 3.5,
    },
    "tcp": {
        "handshake": 40.4,
        "request": 10.1,
        "server_think": 1.2,
        "link_useful": 838.3,
        "link_overhead": 36.2,
        "link_waste": 3.1,
        "congestion_window": 402.8,
        "pacing": 7.7,
        "loss_detection": 22.9,
        "propagation": 18.0,
    },
}


def judged(change: str, share: float | None = 50.0, **given: Any) -> Judged:
    """An intervention in the loser, confirmed, whose share has an interval of four points each way."""
    interval = None if share is None else Share(share, share - 4, share + 4)
    closed = None if share is None else share / 2
    made = Judged(change, "loser", Conclusion.CONFIRMED, 10, interval, closed, 0.0003, {"server_knobs.x": "1"})
    return replace(made, **given)


def explained(**given: Any) -> Explained:
    """A finding about the cut at a loss, confirmed by a cure of the loser."""
    finding = Explained(
        cause="window_after_loss",
        title="Larger cut at a loss",
        sentence="it keeps only 0.50 of its window at a loss",
        source="Kakhki et al., IMC 2017, 5.2; RFC 9002, 7.3.2",
        arm="quic",
        role="server",
        conclusion=Conclusion.CONFIRMED,
        strength_ms=1194.0,
        seen_in=10,
        evidence=("41.7 ms: a packet to the client is dropped at random", "63.0 ms: the window falls from 86 to 43 KB"),
        cures=(judged("0.7 of the window left", 71.0, settings={"server_knobs.window_after_loss": "0.7"}),),
    )
    return replace(finding, **given)


INITIAL_WINDOW = explained(
    cause="initial_window",
    title="Smaller initial window",
    sentence="its first window is smaller (14.6 KB), so that it takes more round trips to fill the path",
    source="Kakhki et al., IMC 2017, 4.1; RFC 6928",
    conclusion=Conclusion.CONFIRMED_BOTH_WAYS,
    strength_ms=310.0,
    seen_in=9,
    evidence=("0.0 ms: the window begins with 14600 bytes, the other arm's with 46720",),
    cures=(judged("an initial window of 32 packets", 24.0),),
    transplants=(judged("an initial window of 10 packets", 19.0, target="winner"),),
    doses=(
        Dose(16.0, "an initial window of 16 packets", 6.1),
        Dose(32.0, "an initial window of 32 packets", 12.0),
        Dose(64.0, "an initial window of 64 packets", 14.4),
    ),
    monotone=True,
)
PLACED = explained(
    cause="spurious_loss",
    title="Spurious losses",
    sentence="it takes late packets for lost ones (about 58 a load), sends them again and shrinks its window",
    conclusion=Conclusion.WHERE,
    cures=(
        judged("a loss declared after 300 later packets", 1.4, conclusion=Conclusion.REFUTED),
        judged("no reordering", 104.0, target="both", touches=Touches.OCCASION),
    ),
    where="where the path delivers packets out of order",
    direct=Conclusion.REFUTED,
)
"""The path's reordering closes the gap, and the sender's threshold does not."""
ALIKE = explained(conclusion=Conclusion.WHERE, direct=Conclusion.CONFIRMED, alike="server")
WHICH_END = explained(
    cause="client_version",
    title="Version of the client",
    sentence="with the version of its client",
    role="client",
    conclusion=Conclusion.WHICH_END,
    cures=(judged("2.0 as client", 99.0, touches=Touches.PROGRAM),),
    where="with the version of its client",
)
REFUTED = explained(
    cause="window_capped",
    title="Capped congestion window",
    sentence="its congestion window stops growing at 2.0 MB, less than the path can hold",
    conclusion=Conclusion.REFUTED,
    strength_ms=51.0,
    seen_in=2,
    cures=(
        judged("a largest window of 8000 packets", 0.4, conclusion=Conclusion.REFUTED, p_adjusted=1.0),
        judged("a largest window of 9000 packets", None, failed="fewer than two rounds in which the trials went well"),
    ),
)
UNTESTABLE = explained(
    cause="timer_too_long",
    title="Timer too long",
    sentence="its timer waits for 1.2 s",
    conclusion=Conclusion.UNTESTABLE,
    seen_in=4,
    cures=(),
    untestable=("server quiche@0.28.0 has no knob initial_rtt; it is a knob of ngtcp2",),
)


def answer(**given: Any) -> Answer:
    """QUIC loses to TCP at 1 % loss; two causes are confirmed, one is refuted, one cannot be tested."""
    made = Answer(
        study="small",
        cell={"rate": "10Mbit", "loss": "1%"},
        cell_id="10Mbit_1",
        contrast="quic vs tcp",
        metric="page_load_time",
        status=Status.EXPLAINED,
        reason="",
        command="longlook explain runs/small 10Mbit_1",
        loser="quic",
        winner="tcp",
        loser_label="QUIC (quic-go 0.65.0, Cubic)",
        winner_label="TCP (Linux, Cubic)",
        loser_level=2.565,
        winner_level=1.381,
        unit="s",
        gap_pct=85.7,
        rounds=10,
        trials=60,
        findings=(explained(), INITIAL_WINDOW, REFUTED, UNTESTABLE),
        together=Together(("0.7 of the window left", "an initial window of 32 packets"), Share(91.0, 86.0, 96.0), 43.0),
        ledger_ms=LEDGER_MS,
        checked=("link and its seed: the same in both arms", "protocol: differs between the arms"),
        left_out=("ack_starvation",),
    )
    return replace(made, **given)


def unlucky(status: Status, reason: str) -> Answer:
    """An answer that came no further than its verdict."""
    return answer(
        status=status,
        reason=reason,
        findings=(),
        together=None,
        ledger_ms=None,
        checked=(),
        left_out=(),
        trials=0,
        cell={"rate": "50Mbit", "loss": str(status)},
        cell_id=f"50Mbit_{status}",
    )


NO_GAP = unlucky(Status.NO_GAP, "nothing to explain: equivalent")
UNDECIDED = unlucky(Status.UNDECIDED, "no verdict says that an arm lost, so nothing is explained: inconclusive")
FAILED = unlucky(Status.FAILED, "no round went well on both arms: 10 of 10 rounds failed")
UNEXPLAINED = replace(unlucky(Status.UNEXPLAINED, "no detector saw a cause"), ledger_ms=LEDGER_MS)
HIGHER_IS_BETTER = answer(
    metric="throughput", unit="Mbit/s", loser_level=4.2, winner_level=7.3, gap_pct=-42.5, cell_id="throughput"
)
SEARCHED = answer(
    cell_id="searched",
    findings=(
        explained(
            cause="server_knobs.max_window",
            title="Setting max_window of the server",
            sentence="max_window of its server is 20 packets",
            seen_in=3,
            found_by=FoundBy.SCREENING,
        ),
        explained(
            cause="losses",
            title="Few losses",
            sentence="at 2 of the packets that it loses (about 59 a load)",
            conclusion=Conclusion.WHERE,
            where="at 2 of the packets that it loses (about 59 a load)",
            role="path",
            seen_in=2,
            found_by=FoundBy.LOSSES,
        ),
    ),
    screening=Screening(
        "",
        20,
        3,
        114,
        (
            Effect("server_knobs.max_window", "max_window 10000 packets of the server", "both", 69.1, 0.00001, True),
            Effect("network.queue", "a queue of 8 BDP", "both", -1.2, 1.0, False),
        ),
        ("server_knobs.window_after_loss: trials with window_after_loss 0.85 of the server fail",),
    ),
    losses=LossSearch(
        "",
        60,
        (
            FewestLosses(
                0, 59, 2, ("packet 9 to the client, dropped", "packet 12 to the client, dropped"), 82.3, 9, True
            ),
            FewestLosses(4, 61, 12, ("packet 30 to the client, dropped", "and 11 more"), 95.0, 25, False),
        ),
    ),
)
NOT_SEARCHED = replace(
    UNEXPLAINED,
    cell_id="not searched",
    screening=Screening(
        "a screening of 16 settings takes 114 trials (20 combinations in 3 rounds), and the budget leaves 20"
    ),
    losses=LossSearch("the link drops no packet of the loser's loads"),
)
FAILING = replace(
    unlucky(Status.FAILED, "no round went well on both arms, so there is no gap to explain"),
    cell_id="failing",
    failing=(
        FailedArm(
            "quic",
            10,
            10,
            again=3,
            traced=3,
            others=3,
            reasons={"a 0rtt connection was asked for, and it was resumed": 3},
            facts=(Fact("early data was sent", 3, 0), Fact("every object arrived", 3, 3)),
            signs={"Early data refused": 3},
            ledger_ms={"handshake": 40.1, "link_useful": 80.2},
            others_ms={"handshake": 20.0, "link_useful": 80.2},
        ),
    ),
)
ALL = (answer(), NO_GAP, UNDECIDED, FAILED, UNEXPLAINED, HIGHER_IS_BETTER, SEARCHED, NOT_SEARCHED, FAILING)
