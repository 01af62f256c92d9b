"""The options of the router's program: how it waits for a packet to be due, and how many packets its rings hold."""

from longlook.core import Job, usable_cpus

_SPIN_US = 100
_CPUS_TO_SPARE = 4
_SPIN_PERCENT, _SPIN_PERCENT_ON_FEW = 80, 50

_SMALLEST_PACKET_BYTES = 1_000  # of those that a sender fills
_FRAMES, _MOST_FRAMES = 256, 8_192


def on_host() -> tuple[str, ...]:
    """Return the options that make the router spin before a packet is due.

    On few CPUs it may spin for less of the time, because client and server need them too.
    """
    spare = len(usable_cpus()) >= _CPUS_TO_SPARE
    percent = _SPIN_PERCENT if spare else _SPIN_PERCENT_ON_FEW
    return ("--spin-us", str(_SPIN_US), "--spin-percent", str(percent))


def in_guest(job: Job | None = None) -> tuple[str, ...]:
    """Return the options for a guest. Nothing stops the router there while packets wait, so that small rings do.

    A kernel that computes in no time still hands over a whole window of TCP before the router gets its turn; so a ring
    holds all that a job loads, up to 8,192 packets. Larger ones would only cost time to make: 50 ms for the largest.
    """
    packets = 0 if job is None else _loaded_bytes(job) // _SMALLEST_PACKET_BYTES
    frames = min(max(_FRAMES, 1 << packets.bit_length()), _MOST_FRAMES)
    return ("--ring-frames", str(frames), "--no-memory-lock")


def _loaded_bytes(job: Job) -> int:
    """Return an upper bound of what all clients load together."""
    loads = job.content.connections * len(job.trial.each_flow())
    return loads * sum(item.bytes for item in job.content.expected.values())
