"""quic-go 0.65.0 whose window stops at 20 packets where nobody sets it otherwise: a planted cause for `--certify`."""

from pathlib import Path

from longlook.core import Version
from longlook.stacks import quic_go

PATCHES = Path(__file__).parent / "low_cap"
VERSION = Version(
    "0.65.0+low-cap", "2026-11-26", note="patched: a largest window of 20 packets, though it declares 10,000"
)
STACK = quic_go.variant("low-cap", VERSION, of="0.65.0+knobs", library=[PATCHES / "library.patch"])
