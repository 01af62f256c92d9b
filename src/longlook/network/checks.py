"""Settings of the network that contradict each other, or that describe something which is switched off."""

from collections.abc import Mapping

from longlook.core import Scalar, SettingError
from longlook.network import marks
from longlook.network.stages import OFF, DirectionSettings

_NEEDS: Mapping[str, tuple[str, str]] = {
    "reorder_depth": ("reorder", "1%"),
    "reorder_wait": ("reorder", "1%"),
    "jitter_law": ("jitter", "5ms"),
    "jitter_correlation": ("jitter", "5ms"),
    "mtu_icmp": ("mtu", "1400B"),
    "mtu_claimed": ("mtu", "1400B"),
    "udp_burst": ("udp_rate", "1Mbit"),
    **marks.NEEDS,
}
"""The setting that each of these needs, and an example of it. It may be off, as a level of a factor."""


def check_together(up: DirectionSettings, down: DirectionSettings, given: Mapping[str, Scalar]) -> None:
    """Raise SettingError if settings exclude each other, or if one lacks another that it needs."""
    for name, (other, example) in _NEEDS.items():
        for side in (up, down):
            key = side.key(name)
            sides = (side,) if key.startswith(f"network.{side.direction}.") else (up, down)
            if key in given and not any(one.given(other) for one in sides):
                beside = key.removesuffix(name) + other
                raise SettingError(key, f'has no effect without {beside}: write for example {beside} = "{example}"')
    for side in (up, down):
        _check_ecn(side)
        if not side.is_off("mtu_claimed") and side.setting("mtu_icmp") is False:
            raise side.error("mtu_claimed", f"{side.key('mtu_icmp')} = false sends no message that could claim a size")
        _check_block(side)


def check_rtt(settings: Mapping[str, Scalar]) -> None:
    """Raise SettingError if there is a round trip and also a delay of each direction.

    `settings` are the study's without its preset's, because the round trip of a preset may be overridden.
    """
    if "network.rtt" in settings and all(f"network.{direction}.delay" in settings for direction in ("up", "down")):
        raise SettingError(
            "network.rtt", "has no effect beside network.up.delay and network.down.delay: leave it out, or one of them"
        )


def _check_ecn(side: DirectionSettings) -> None:
    if side.setting("ecn") and side.setting("aqm") == "droptail":
        raise side.error(
            "ecn",
            'a drop-tail queue never marks; allowed with aqm = "codel", "fq_codel" or "red"; '
            "dualpi2 and step always mark",
        )
    if (aqm := side.setting("aqm")) in marks.MARKING and side.given("ecn") and not side.setting("ecn"):
        raise side.error("ecn", f"{aqm} signals by marks and cannot do without: leave ecn out, or choose another aqm")


def _check_block(side: DirectionSettings) -> None:
    if side.setting("block") not in ("udp", "any"):
        return
    for name in ("udp_rate", "udp_cutoff"):
        if side.setting(name) not in (None, OFF):
            raise side.error(name, f'{side.key("block")} = "{side.setting("block")}" lets no UDP pass anyway')
