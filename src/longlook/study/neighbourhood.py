"""Neighbourhoods: rounds that draw the settings of a cell about what the study states. Pure.

In virtual time rounds of one point are replays of it, and a verdict about a point says nothing of the conditions next
to it. A round therefore draws each setting of `Study.around` once, for all arms of a cell alike: the place in the
neighbourhood is random, and arms are compared at the same place. `laws` lists the settings that can be drawn.

A setting is drawn if the cell has a plain number for it: its own, one of its levels', a preset's, or the default of
a queue. A value that varies by itself (a trace, a schedule), that is 0 or that is off is left as it is. A draw is for
the path: the values of both directions move together. A queue in bandwidth-delay products follows the rate and round
trip that were drawn, and then its own draw.

A draw of the standard neighbourhood that cannot be is moved towards what the study states until it can: a study may
state every value that is allowed, up to the last one. Laws that a study writes itself have to fit.

The draws of a setting have a stream of their own. Draws of the workload are the same for all cells that have the same
workload, so that few files serve many cells.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from longlook.core import (
    BOTTLENECKS,
    ORDERS,
    Link,
    Scalar,
    SettingError,
    Study,
    Trial,
    Workload,
    WorkloadKind,
    as_further,
    as_main,
    codec,
    link_of,
    names_in,
    units,
)
from longlook.network import DEFAULTS, LIMITED_BY_LINUX, OFF, PACKET_BYTES, call, extra_links, with_preset
from longlook.study import laws
from longlook.study.catalogue import Catalogue
from longlook.study.laws import uniform
from longlook.study.resolve import resolve_conditions
from longlook.study.settings import WORKLOAD_PREFIX, network_setting, workload_setting

Made = TypeVar("Made")

COLUMN_PREFIX = "drawn."
"""The prefix of columns of the samples that hold what a round drew."""


@dataclass(frozen=True)
class Draw:
    """The draw of one round of a cell. `settings` are the cell's, with the drawn values in their places."""

    settings: Mapping[str, Scalar]
    drawn: Mapping[str, str]  # as `Trial.drawn`
    start_phase_ns: int = 0
    certificate_padding_bytes: int = 0


NOTHING_DRAWN = Draw({}, {})
"""The draw of a round of a study that draws nothing."""


@dataclass(frozen=True)
class _Place:
    """A setting that is drawn in a cell, and the values that hold it, how far each; the first value is shown."""

    setting: str
    quantity: laws.DrawnQuantity
    values: Mapping[str, str]
    standard: bool
    """Whether its law is from the standard neighbourhood, so that an impossible draw is moved to the nearest possible
    value.
    """
    lattices: Mapping[str, tuple[int, int, Fraction]]  # of each value: `laws.lattice`

    def at(self, share: float | None) -> dict[str, str]:
        """Return the values at a place from 0, the lowest, to below 1; None is what the study states."""
        if share is None:
            return dict(self.values)
        found = {}
        for key, text in self.values.items():
            first, last, step = self.lattices[key]
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

    def draw(
        self,
        seed: int,
        round_number: int,
        cell: str,
        workload: Workload,
        resolve: Callable[[Mapping[str, Scalar]], Made],
    ) -> tuple[Draw, Made]:
        """Return what a round draws, and what `resolve` makes of the settings.

        `cell` is the key of the cell's block, `workload` what it has without draws. `resolve` raises SettingError for
        settings that cannot be; what is drawn by standard laws is then cut. Raise that error if this does not help.
        """
        shared = codec.content_hash(workload)

        def share(setting: str, of: str = cell) -> float:
            return uniform(seed, "around", round_number, of, setting)

        others, drawn_others = dict(self._settings), {}
        phase_ns = padding_bytes = 0
        if laws.START_PHASE in self._around:
            steps = units.parse_time(laws.width_of(self._around[laws.START_PHASE])) // laws.PHASE_STEP_NS
            phase_ns = laws.PHASE_STEP_NS * laws.point(0, steps - 1, share(laws.START_PHASE))
            drawn_others[laws.START_PHASE] = units.print_time(phase_ns)
        if self._reorders:
            number = laws.point(0, ORDERS - 1, share(laws.ORDER, shared))
            others[f"{WORKLOAD_PREFIX}{laws.ORDER}"] = number
            drawn_others[laws.ORDER] = str(number)
        if laws.CERTIFICATE in self._around:
            steps = units.parse_size(laws.width_of(self._around[laws.CERTIFICATE])) // laws.PADDING_STEP_BYTES
            padding_bytes = laws.PADDING_STEP_BYTES * laws.point(0, steps, share(laws.CERTIFICATE))
            drawn_others[laws.CERTIFICATE] = units.print_size(padding_bytes)

        def made(shares: _Shares) -> tuple[Draw, Made]:
            settings, drawn = dict(others), {}
            for place, at in zip(self._places, shares, strict=True):
                values = place.at(at)
                settings.update(self._checked(place, values))
                drawn[place.setting] = _shown(place.setting, values)
            return Draw(settings, drawn | drawn_others, phase_ns, padding_bytes), resolve(settings)

        of_workload = [place.setting.startswith(WORKLOAD_PREFIX) for place in self._places]
        shares = [
            share(place.setting, shared if workloads else cell)
            for place, workloads in zip(self._places, of_workload, strict=True)
        ]
        try:
            return made(shares)
        except SettingError:
            return _cut(shares, [place.standard for place in self._places], made)

    def all_at(self, share: float, *, only_own_laws: bool = False) -> dict[str, Scalar]:
        """Return the cell's settings with all that is drawn at a place from 0, the lowest, to below 1.

        With `only_own_laws` what is drawn by standard laws is as the study states it. Raise SettingError, with the key
        `around.SETTING`, where a setting cannot be so.
        """
        settings = dict(self._settings)
        for place in self._places:
            settings.update(self._checked(place, place.at(None if only_own_laws and place.standard else share)))
        return settings

    def drawn_settings(self) -> set[str]:
        """Return the settings that rounds of this cell draw."""
        others = {laws.START_PHASE, laws.CERTIFICATE} & self._around.keys()
        return {place.setting for place in self._places} | others | ({laws.ORDER} if self._reorders else set())

    def _checked(self, place: _Place, values: Mapping[str, str]) -> dict[str, Scalar]:
        """Return values in the form of settings; SettingError if one cannot be."""
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


HIGHEST = 1 - 2.0**-53
"""The highest place of a draw."""


_Shares = Sequence[float | None]
_HALVINGS = 20


def _cut(shares: _Shares, standard: Sequence[bool], made: Callable[[_Shares], Made]) -> Made:
    """Return what is made of shares that are as near as possible to those given, which cannot be.

    A single standard one is moved towards what the study states, the first of which that is enough, else all standard
    ones. Raise SettingError if none of that helps.
    """
    movable = [number for number, each in enumerate(standard) if each]
    for chosen in [[number] for number in movable] + [movable]:
        found = None
        near, far = 0.0, 1.0  # of the way to the middle: `near` is not enough
        for at in (None, *[0.5] * _HALVINGS):
            middle = (near + far) / 2
            try:
                found = made(_moved(shares, chosen, None if at is None else middle))
            except SettingError:
                if at is None:
                    break
                near = middle
            else:
                far = far if at is None else middle
        if found is not None:
            return found
    return made(shares)


def _moved(shares: _Shares, chosen: Sequence[int], way: float | None) -> list[float | None]:
    """Return shares of which the chosen ones went a part of the way to the middle; None: they are what is stated."""
    return [
        share if number not in chosen or share is None else None if way is None else share + (0.5 - share) * way
        for number, share in enumerate(shares)
    ]


def neighbourhood(study: Study, settings: Mapping[str, Scalar], catalogue: Catalogue) -> Neighbourhood:
    """Return the neighbourhood of a cell of a study that has these settings."""
    return Neighbourhood(study.around, settings, catalogue.workloads[str(settings[f"{WORKLOAD_PREFIX}kind"])])


def check_ends(around: Neighbourhood, catalogue: Catalogue, *, ask_router: bool = True) -> bool:
    """Return whether all settings of a neighbourhood can be: with all that is drawn lowest, and highest.

    If they cannot, draws have to be cut. Raise SettingError if that does not help, because a law that the study
    writes itself leaves what a setting may be.
    """
    fits = True
    for where, share in (("lowest", 0.0), ("highest", HIGHEST)):
        own = around.all_at(share, only_own_laws=True)
        try:
            resolve_conditions(own, catalogue, ask_router=ask_router)
        except SettingError as error:
            shown = f" = {own[error.key]}" if error.key in own else ""
            message = f"where all that is drawn is {where}, {error.key}{shown}: {error.message}"
            raise SettingError("around", f'{message}; draw less far, or write around = "none"') from error
        try:
            resolve_conditions(around.all_at(share), catalogue, ask_router=ask_router)
        except SettingError:
            fits = False
    return fits


def outside(setting: str, message: str) -> SettingError:
    """Return the error of a neighbourhood that leaves what a setting may be."""
    return SettingError(
        f"around.{setting}", f'{message}; draw less far, leave {setting} out of [around], or write around = "none"'
    )


def _shown(setting: str, values: Mapping[str, str]) -> str:
    """Return the value of both directions, else that towards the client; of two delays their round trip."""
    if as_main(setting) == laws.RTT and setting not in values and len(values) > 1:
        return units.print_time(sum(map(units.parse_time, values.values())))
    return next(iter(values.values()))


def _places(around: Mapping[str, str], settings: Mapping[str, Scalar]) -> Iterator[_Place]:
    for setting, quantity in laws.QUANTITIES.items():
        if setting in around:
            link = link_of(setting)
            if link and link not in names_in(settings):
                continue
            given = with_preset(extra_links.settings_of(link, settings))
            values = {
                as_further(link, key): str(value)
                for key, value in _values(as_main(setting), given).items()
                if value != OFF and call(value) is None and quantity.number(str(value))
            }
            if values:
                standard = around[setting] == laws.STANDARD_LAWS.get(as_main(setting))
                width = units.parse_share(laws.width_of(around[setting]))
                lattices = {key: laws.lattice(quantity, text, width) for key, text in values.items()}
                yield _Place(setting, quantity, values, standard, lattices)


def _values(setting: str, given: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Return the values that decide a setting: the value of both directions, and the values of single directions."""
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
    """Return what a trial drew for a setting, in the unit of its column; None if it drew nothing.

    A queue counts in bytes towards the client, whatever it is written in; of packets it has the bytes of full ones. The
    certificate counts by what it has more than without draws.
    """
    text = trial.drawn.get(setting)
    if text is None:
        return None
    if as_main(setting) == laws.QUEUE:
        name = link_of(setting)
        return _queue_bytes(trial.links[name])
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
