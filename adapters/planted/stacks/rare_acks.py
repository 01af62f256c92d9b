"""quic-go 0.65.0 that acknowledges late and rarely where nobody sets it otherwise: a planted cause for `--certify`."""

from pathlib import Path

from longlook.core import Version
from longlook.stacks import quic_go

PATCHES = Path(__file__).parent / "rare_acks"
VERSION = Version("0.65.0+rare-acks", "2026-11-26", note="patched: an acknowledgement for 100 packets or after 150 ms")
STACK = quic_go.variant("rare-acks", VERSION, of="0.65.0+knobs", library=[PATCHES / "library.patch"])
