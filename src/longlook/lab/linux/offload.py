"""Switches every offload of a device off, and verifies it.

With segmentation offloads on, the link would carry super-packets of up to 64 KB whole, which no real path does: in one
trial QUIC lost 817 packets more without UDP segmentation than with it. Checksum offloads must be off too, because the
receiver drops a packet that left through AF_PACKET with its checksum missing.
"""

from typing import Any

from longlook.core import MachineError
from longlook.lab.linux.netlink import IoctlEthtool

_NEEDED_OFF = ("segmentation", "checksum", "scatter-gather", "gro", "lro", "gso")


def switch_off(device: str) -> None:
    """Turn all offloads of a device of this network namespace off; raise MachineError if one that matters stays on."""
    ethtool: Any = IoctlEthtool(device)  # type: ignore[no-untyped-call]
    try:
        features = ethtool.get_features()
        for name, enabled, changeable, *_ in features:
            if enabled and changeable:
                features[name] = False
        ethtool.set_features(features)
        left = [name for name, enabled, *_ in ethtool.get_features() if enabled and any(n in name for n in _NEEDED_OFF)]
    finally:
        ethtool.close()
    if left:
        raise MachineError(
            f"the kernel keeps {', '.join(left)} of {device} on",
            "use another kernel, or the other datapath: LONGLOOK_DATAPATH=tun (or packet)",
        )
