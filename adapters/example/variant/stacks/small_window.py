"""quic-go 0.65.0 that begins with a window of 10 packets in place of 32: a variant of a shipped stack, to copy."""

from pathlib import Path

from longlook.core import Version
from longlook.stacks import quic_go

PATCHES = Path(__file__).parent / "small_window"
VERSION = Version("0.65.0+small-window", "2026-11-23", note="patched: an initial window of 10 packets")
STACK = quic_go.variant(
    "small-window", VERSION, of="0.65.0", library=[PATCHES / "library.patch"], adapter=[PATCHES / "adapter.patch"]
)
