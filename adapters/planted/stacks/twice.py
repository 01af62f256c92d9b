"""quic-go 0.65.0 that sends each datagram twice: a planted cause for `--certify`, of which no stack has a knob."""

from pathlib import Path

from longlook.core import Version
from longlook.stacks import quic_go

PATCHES = Path(__file__).parent / "twice"
VERSION = Version("0.65.0+twice", "2026-11-26", note="patched: each datagram is sent twice")
STACK = quic_go.variant("twice", VERSION, of="0.65.0", library=[PATCHES / "library.patch"])
