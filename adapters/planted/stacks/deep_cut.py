"""quic-go 0.65.0 whose window a loss cuts to 0.2 where nobody sets it otherwise: a planted cause for `--certify`."""

from pathlib import Path

from longlook.core.stack import Version
from longlook.stacks import quic_go

PATCHES = Path(__file__).parent / "deep_cut"
VERSION = Version("0.65.0+deep-cut", "2026-11-26", note="patched: a loss leaves 0.2 of the window")
STACK = quic_go.variant("deep-cut", VERSION, of="0.65.0+knobs", library=[PATCHES / "library.patch"])
