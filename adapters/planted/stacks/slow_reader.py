"""quic-go 0.65.0 with a client that reads 10 Mbit/s at most: a planted cause for `--certify`, which no knob has."""

from pathlib import Path

from longlook.core import Version
from longlook.stacks import quic_go

PATCHES = Path(__file__).parent / "slow_reader"
VERSION = Version(
    "0.65.0+slow-reader", "2026-11-26", note="patched: the client takes 0.8 us for each byte that it reads"
)
STACK = quic_go.variant("slow-reader", VERSION, of="0.65.0", adapter=[PATCHES / "adapter.patch"])
