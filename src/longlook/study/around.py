"""Neighbourhoods: rounds that draw the settings of a cell about what the study states. Pure.

In virtual time rounds of one point are replays of it, and a verdict about a point says nothing of the conditions next
to it. A round therefore draws each setting of `Study.around` once, for all arms of a cell alike (`laws` has what can be
drawn): what is random is the place in the neighbourhood, and arms are compared at the same place.

A setting is drawn where the cell has a plain number for it: its own, one of its levels', a preset's, or the default of
a queue. A value that varies by itself (a trace, a schedule), that is 0 or that is off is left as it is. A draw is for
the path: the values of both directions move together. A queue in bandwidth-delay products follows the rate and round
trip that were drawn, and then its own draw.

The draws of a setting have a stream of their own. Those of the workload are the same for all cells that have the same
workload, so that few files serve many cells.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from longlook.core import codec, units
from longlook.core.model import Link, Scalar, Study, Trial, Workload
from longlook.core.problems import SettingError
from longlook.core.workload import ORDERS, WorkloadKind
from longlook.network import further
from longlook.network.presets import with_preset
from longlook.network.settings import DEFAULTS
from longlook.network.stages import BOTTLENECKS, LIMITED_BY_LINUX, OFF, PACKET_BYTES
from longlook.network.values import call
from longlook.study import laws
from longlook.study.catalogue import Catalogue
from longlook.study.resolve import resolve_conditions
from longlook.study.seeded import uniform
from longlook.study.settings import WORKLOAD_PREFIX, network_setting, workload_setting

COLUMN_PREFIX = "drawn."
"""The prefix of columns of the samples that hold what a round drew."""


@dataclass(frozen=True)
class Draw:
    """What one round of a cell draws. `settings` are the cell's, with what was drawn in its place."""

    settings: Mapping[str, Scalar]
    drawn: Mapping[str, str]  # as `Trial.drawn`
    start_phase_ns: int = 0
    certificate_padding_bytes: int = 0


@dataclass(frozen=True)
class _Place:
    """A setting that is drawn in a cell, how far, and the values that hold it, first the one that is shown."""

    setting: str
    quantity: laws.Quantity
    width: Fraction
    values: Mapping[str, str]

    def at(self, share: float) -> dict[str, str]:
        """Return the values at a place from 0, the lowest, to below 1."""
        found = {}
        for key, text in self.values.items():
            first, last, step = laws.lattice(self.quantity, text, self.width)
            found[key] = self.quantity.text(text, laws.point(first, last, share) * step)
        return found


class Neighbourhood:
    """The settings of a cell, and what its rounds draw about them."""

    def __init__(self, around: Mapping[str, str], settings: Mapping[str, Scalar], kind: WorkloadKind) -> None:
        """Take laws in canonical form and a cell's settings; the workload is of `kind`."""
        self._around, self._settings, self._kind = around, settings, kind
        self._places = tuple(_places(around, settings))
        several = "objects" not in kind.parameters or int(settings.get(f"{WORKLOAD_PREFIX}objects", 1)) > 1
        self._reorders = laws.ORDER in around and laws.ORDER in kind.parameters and several

    @property
    def draws_workload(self) -> bool:
        """Whether rounds differ in what is transferred."""
        return self._reorders or any(place.setting.startswith(WORKLOAD_PREFIX) for place in self._places)

    def draw(self, seed: int, round_number: int, cell: str, workload: Workload) -> Draw:
        """Return what a round draws; `cell` is the key of the cell's block, `workload` what it has without draws.

        Raise SettingError where a setting cannot have the value that was drawn.
        """
        shared = codec.content_hash(workload)

        def share(setting: str, of: str = cell) -> float:
            return uniform(seed, "around", round_number, of, setting)

        settings, drawn = dict(self._settings), {}
        for place in self._places:
            of_workload = place.setting.startswith(WORKLOAD_PREFIX)
            values = place.at(share(place.setting, shared if of_workload else cell))
            settings.update(self._checked(place, values))
            drawn[place.setting] = _shown(place.setting, values)
        phase_ns = padding_bytes = 0
        if laws.START_PHASE in self._around:
            steps = units.parse_time(laws.width_of(self._around[laws.START_PHASE])) // laws.PHASE_STEP_NS
            phase_ns = laws.PHASE_STEP_NS * laws.point(0, steps - 1, share(laws.START_PHASE))
            drawn[laws.START_PHASE] = units.print_time(phase_ns)
        if self._reorders:
            number = laws.point(0, ORDERS - 1, share(laws.ORDER, shared))
            settings[f"{WORKLOAD_PREFIX}{laws.ORDER}"] = number
            drawn[laws.ORDER] = str(number)
        if laws.CERTIFICATE in self._around:
            steps = units.parse_size(laws.width_of(self._around[laws.CERTIFICATE])) // laws.PADDING_STEP_BYTES
            padding_bytes = laws.PADDING_STEP_BYTES * laws.point(0, steps, share(laws.CERTIFICATE))
            drawn[laws.CERTIFICATE] = units.print_size(padding_bytes)
        return Draw(settings, drawn, phase_ns, padding_bytes)

    def ends(self) -> Iterator[dict[str, Scalar]]:
        """Yield the cell's settings where all that is drawn is lowest, and where it is highest.

        Raise SettingError, with the key `around.SETTING`, where a setting cannot be as low or as high.
        """
        for share in (0.0, _HIGHEST):
            settings = dict(self._settings)
            for place in self._places:
                settings.update(self._checked(place, place.at(share)))
            yield settings

    def drawn_settings(self) -> set[str]:
        """Return the settings that rounds of this cell draw."""
        others = {laws.START_PHASE, laws.CERTIFICATE} & self._around.keys()
        return {place.setting for place in self._places} | others | ({laws.ORDER} if self._reorders else set())

    def _checked(self, place: _Place, values: Mapping[str, str]) -> dict[str, Scalar]:
        """Return values in the form of settings; SettingError where one cannot be."""
        checked: dict[str, Scalar] = {}
        for key, text in values.items():
            try:
                if key.startswith(WORKLOAD_PREFIX):
                    checked[key] = workload_setting(self._kind, key, text)[1]
                else:
                    checked[key] = network_setting(key, text)
            except SettingError as error:
                raise outside(place.setting, f"{key} = {place.values[key]} is drawn as {text}: {error.message}") from (
                    error
                )
        return checked


_HIGHEST = 1 - 2.0**-53


def neighbourhood(study: Study, settings: Mapping[str, Scalar], catalogue: Catalogue) -> Neighbourhood:
    """Return the neighbourhood of a cell of a study that has these settings."""
    return Neighbourhood(study.around, settings, catalogue.workloads[str(settings[f"{WORKLOAD_PREFIX}kind"])])


def check_ends(around: Neighbourhood, catalogue: Catalogue, *, ask_router: bool = True) -> None:
    """Raise SettingError where the settings of a neighbourhood cannot be, with all that is drawn lowest or highest."""
    for where, settings in zip(("lowest", "highest"), around.ends(), strict=True):
        try:
            resolve_conditions(settings, catalogue, ask_router=ask_router)
        except SettingError as error:
            shown = f" = {settings[error.key]}" if error.key in settings else ""
            message = f"where all that is drawn is {where}, {error.key}{shown}: {error.message}"
            raise SettingError("around", f'{message}; draw less far, or write around = "none"') from error


def outside(setting: str, message: str) -> SettingError:
    """Return the error of a neighbourhood that leaves what a setting may be."""
    return SettingError(
        f"around.{setting}", f'{message}; draw less far, leave {setting} out of [around], or write around = "none"'
    )


def _shown(setting: str, values: Mapping[str, str]) -> str:
    """Return the value of both directions, else that towards the client; of two delays their round trip."""
    if further.as_main(setting) == laws.RTT and setting not in values and len(values) > 1:
        return units.print_time(sum(map(units.parse_time, values.values())))
    return next(iter(values.values()))


def _places(around: Mapping[str, str], settings: Mapping[str, Scalar]) -> Iterator[_Place]:
    for setting, quantity in laws.QUANTITIES.items():
        if setting in around:
            link = further.link_of(setting)
            if link and link not in further.names_in(settings):
                continue
            given = with_preset(further.settings_of(link, settings))
            values = {
                further.as_further(link, key): str(value)
                for key, value in _values(further.as_main(setting), given).items()
                if value != OFF and call(value) is None and quantity.number(str(value))
            }
            if values:
                yield _Place(setting, quantity, units.parse_share(laws.width_of(around[setting])), values)


def _values(setting: str, given: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Return the values that decide a setting: that of both directions, and those that a direction has of its own."""
    if setting.startswith(WORKLOAD_PREFIX):
        return {setting: given[setting]} if setting in given else {}
    name = "delay" if setting == laws.RTT else setting.removeprefix("network.")
    ways = {way: f"network.{way}.{name}" for way in ("down", "up")}
    own = {key: given[key] for key in ways.values() if key in given}
    shared = {} if len(own) == len(ways) or setting not in given else {setting: given[setting]}
    if setting == laws.QUEUE and setting not in given:
        free = [key for way, key in ways.items() if key not in given and _aqm(way, given) not in LIMITED_BY_LINUX]
        shared = dict.fromkeys([setting] if len(free) == len(ways) else free, DEFAULTS[setting])
    return {**shared, **own}


def _aqm(way: str, given: Mapping[str, Scalar]) -> str:
    return str(given.get(f"network.{way}.aqm", given.get("network.aqm", DEFAULTS["network.aqm"])))


def columns(around: Mapping[str, str]) -> dict[str, str]:
    """Return the column of the samples for each setting that a study draws, with its unit: `drawn.network.rtt_ms`."""
    special = {laws.START_PHASE: "_ms", laws.ORDER: "", laws.CERTIFICATE: "_bytes"}
    return {
        setting: f"{COLUMN_PREFIX}{setting}"
        + (laws.QUANTITIES[setting].column if setting in laws.QUANTITIES else special[setting])
        for setting in laws.SETTINGS
        if setting in around
    }


def drawn_number(trial: Trial, setting: str) -> float | None:
    """Return what a trial drew for a setting, in the unit of its column; None where it drew nothing.

    A queue counts in bytes towards the client, whatever it is written in; of packets it has the bytes of full ones. The
    certificate counts by what it has more than without draws.
    """
    text = trial.drawn.get(setting)
    if text is None:
        return None
    if further.as_main(setting) == laws.QUEUE:
        name = further.link_of(setting)
        return _queue_bytes(trial.further[name] if name else trial.link)
    if setting == laws.START_PHASE:
        return trial.start_phase_ns / 1e6
    if setting == laws.CERTIFICATE:
        return float(trial.certificate_padding_bytes)
    if setting == laws.ORDER:
        return float(text)
    quantity = laws.QUANTITIES[setting]
    number = quantity.number(text)
    return float(number * 100 if quantity is laws.SHARE else number / quantity.scale)


def _queue_bytes(link: Link) -> float | None:
    for stage in link.down:
        if stage.kind in BOTTLENECKS:
            size = stage.parameters.get("queue_bytes")
            packets = stage.parameters.get("queue_packets")
            found = size if size is not None else packets * PACKET_BYTES if isinstance(packets, int) else None
            return float(found) if isinstance(found, int | float) else None
    return None
