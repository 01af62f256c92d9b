"""A transfer as a trial can repeat it: its parts, their values, and how each was found. Pure types."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from longlook.core import Scalar, units
from longlook.instruments.transfer.reading import End

RTT, RATE, QUEUE, WORKLOAD = "network.rtt", "network.rate", "network.queue", "workload."
LARGEST_RATE_BPS = 200_000_000
"""Above this rate an end's processor decides, and it costs no time in a trial."""
BELOW_BYTES = {"QUIC": 28, "TCP": 20}
"""Bytes of IP and UDP, or of IP, that the size of a packet lacks; IPv6 has 20 more."""


@dataclass(frozen=True)
class Fitted:
    """A part of the rebuilt transfer: its name, its value, how it was found, and the settings that have the value."""

    what: str
    value: Scalar
    found: str
    keys: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rebuilt:
    """A transfer as a trial can repeat it.

    `settings` are keys of the study's arm and of its network, `given` the user's settings, which no fit changes.
    `dropped` are places among the sender's 1-RTT packets, `first_place` is the place of the first of these among the
    sender's packets on the link, None before a trial has shown it. `lacks` has a sentence for everything in the trace
    that the trial does not have.
    """

    end: End  # that was recorded
    uplink: bool  # the client sends the data
    given: Mapping[str, Scalar]
    settings: Mapping[str, Scalar]
    workload: Mapping[str, Scalar]
    fitted: Mapping[str, Fitted]  # by `what`
    dropped: tuple[int, ...]
    lacks: tuple[str, ...]
    first_place: int | None = None

    @property
    def way(self) -> str:
        """The direction of the data: `up` or `down`."""
        return "up" if self.uplink else "down"

    @property
    def sender(self) -> str:
        """The end that sends the data."""
        return "client" if self.uplink else "server"

    def corrected(self, *parts: Fitted) -> "Rebuilt":
        """Return the same with other values of some parts; settings that the user gave stay."""
        settings, fitted = dict(self.settings), dict(self.fitted)
        for part in parts:
            own = [key for key in part.keys if not is_given(self.given, key)]
            settings.update(dict.fromkeys(own, part.value))
            if own or not part.keys:
                fitted[part.what] = part
        return replace(self, settings=settings, fitted=fitted)

    def lacking(self, sentence: str) -> "Rebuilt":
        """Return the same with another sentence about what the trial lacks."""
        return replace(self, lacks=(*dict.fromkeys((*self.lacks, sentence)),))


def is_given(given: Mapping[str, Scalar], key: str) -> bool:
    """Return whether the user gave a setting, or the one for both directions that it would overrule."""
    return bool({key, key.replace("network.up.", "network."), key.replace("network.down.", "network.")} & given.keys())


def time_text(ns: float) -> str:
    """Return a time as studies have it, 1 ns at least."""
    return units.print_time(max(1, round(ns)))


def rate_text(bps: float) -> str:
    """Return a rate with four digits: a trace does not show more."""
    digits = max(0, len(str(int(bps))) - 4)
    return units.print_rate(int(round(bps, -digits)))


def size_text(size_bytes: float) -> str:
    """Return the size of a queue in whole hundreds of bytes, a packet's at least."""
    return units.print_size(max(1500, int(round(size_bytes, -2))))
