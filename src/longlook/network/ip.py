"""The version of IP of a trial's whole path: setting `network.ip`."""

from collections.abc import Mapping

from longlook.core import Scalar, SettingError, as_main, units
from longlook.network import values
from longlook.network.stages import OFF
from longlook.network.varying import smallest

IP = "network.ip"
VERSIONS = ("4", "6")
_MTU = frozenset({"network.mtu", "network.up.mtu", "network.down.mtu"})
_LEAST_MTU_BYTES = 1280


def ip_text(value: object) -> Scalar:
    """Return the canonical form of a version, which may be given as a number; UnitError for any other value."""
    if isinstance(value, bool) or str(value) not in VERSIONS:
        raise units.UnitError('write "4" or "6"')
    return str(value)


def version(settings: Mapping[str, Scalar]) -> int:
    """Return the version of IP of settings as `Trial.ip` has it; SettingError if the path cannot carry it."""
    if settings.get(IP, "4") == "4":
        return 0
    for key, value in settings.items():
        if as_main(key) in _MTU and value != OFF:
            least_bytes = smallest(values.read(values.SIZE, value).parameter)
            if least_bytes < _LEAST_MTU_BYTES:
                reason = f"a link of IPv6 carries packets of {_LEAST_MTU_BYTES} bytes at least (RFC 8200, section 5)"
                raise SettingError(key, f'{reason}: give {_LEAST_MTU_BYTES}B or more, or {IP} = "4"')
    return 6
