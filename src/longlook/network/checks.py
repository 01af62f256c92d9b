"""Settings of the network that contradict each other, or that say how something is done that is not done at all."""

from collections.abc import Mapping

from longlook.core.model import Scalar
from longlook.core.problems import SettingError
from longlook.network.stages import OFF, Side

_NEEDS: Mapping[str, tuple[str, str]] = {
    "reorder_depth": ("reorder", "1%"),
    "reorder_wait": ("reorder", "1%"),
    "jitter_law": ("jitter", "5ms"),
    "jitter_correlation": ("jitter", "5ms"),
    "mtu_icmp": ("mtu", "1400B"),
    "udp_burst": ("udp_rate", "1Mbit"),
}
"""What a setting says nothing without, and an example of it. One that is there but off is a level of a factor."""


def check_together(up: Side, down: Side, given: Mapping[str, Scalar]) -> None:
    """SettingError where settings exclude or miss each other."""
    for name, (other, example) in _NEEDS.items():
        for side in (up, down):
            key = side.key(name)
            sides = (side,) if key.startswith(f"network.{side.direction}.") else (up, down)
            if key in given and not any(one.given(other) for one in sides):
                beside = key.removesuffix(name) + other
                raise SettingError(key, f'has no effect without {beside}: write for example {beside} = "{example}"')
    for side in (up, down):
        _check_ecn(side)
        _check_block(side)


def check_rtt(settings: Mapping[str, Scalar]) -> None:
    """SettingError where both directions have a delay of their own, and a round trip of another name beside them.

    `settings` without those of a preset, which may have a round trip that is not wanted.
    """
    if "network.rtt" in settings and all(f"network.{direction}.delay" in settings for direction in ("up", "down")):
        raise SettingError(
            "network.rtt", "has no effect beside network.up.delay and network.down.delay: leave it out, or one of them"
        )


def _check_ecn(side: Side) -> None:
    if side.setting("ecn") and side.setting("aqm") == "droptail":
        raise side.error("ecn", 'a drop-tail queue never marks; allowed with aqm = "codel", "fq_codel" or "red"')


def _check_block(side: Side) -> None:
    if side.setting("block") not in ("udp", "any"):
        return
    for name in ("udp_rate", "udp_cutoff"):
        if side.setting(name) not in (None, OFF):
            raise side.error(name, f'{side.key("block")} = "{side.setting("block")}" lets no UDP pass anyway')
