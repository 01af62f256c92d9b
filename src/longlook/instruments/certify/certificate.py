"""The certificate (`certificate.json`): every rate with its counts and interval, and what it was made from."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from longlook.core import Analysis, InputError, codec, files, write_json
from longlook.instruments.certify.exactness import Repeated
from longlook.instruments.certify.fixed_rounds import Coverage, Power
from longlook.instruments.certify.rates import Rate, RateFinding
from longlook.instruments.certify.trial_bank import MadeRun

CERTIFICATE = "certificate.json"
SCHEMA = 3


@dataclass(frozen=True)
class Part:
    """The finding of one part of the certification. `missing` says why nothing was measured, None if it was."""

    rates: tuple[Rate, ...] = ()
    coverage: tuple[Coverage, ...] = ()
    power: tuple[Power, ...] = ()
    repeated: tuple[Repeated, ...] = ()
    stopped_after: Mapping[str, float] = field(default_factory=dict)  # true difference in % → median rounds
    missing: str | None = None
    minutes: float = 0.0  # of its machine, trials included, over all sessions
    host: Mapping[str, str | int] = field(default_factory=dict)  # the machine of the last session of this part
    method: str = ""  # the certificate's when the part was made; "": still the same
    day: str = ""  # ISO date of the last session of this part; "": the certificate's
    analysis: Analysis | None = None  # with which the part was made; None: the certificate's

    @property
    def sound(self) -> bool:
        """Return whether no rate misses its level and every repeat was identical."""
        missed = any(rate.finding is RateFinding.MISSED for rate in self.rates)
        return not missed and all(item.identical == item.repeats for item in self.repeated)


@dataclass(frozen=True)
class Certificate:
    """The rates of one version of Longlook. `scale` is `quick` or `full`; `parts` are by name.

    A part that was made by another method or analysis stays until it is made again.
    """

    longlook: str
    method: str  # digest of longlook.analysis.stats, which makes verdicts; not of what it imports
    scale: str
    seed: int
    analysis: Analysis
    day: str  # ISO date of the last session
    runs: tuple[MadeRun, ...] = ()
    parts: Mapping[str, Part] = field(default_factory=dict)
    schema: int = SCHEMA

    @property
    def sound(self) -> bool:
        """Return whether every part is."""
        return all(part.sound for part in self.parts.values())

    @property
    def rates(self) -> list[Rate]:
        """Return the rates of all parts."""
        return [rate for part in self.parts.values() for rate in part.rates]

    @property
    def done(self) -> set[str]:
        """Return the names of the parts that were measured by this method."""
        return {name for name, part in self.parts.items() if part.missing is None and not self.is_older(part)}

    def is_older(self, part: Part) -> bool:
        """Return whether a part was made by another method or analysis than the certificate's."""
        return part.method not in ("", self.method) or part.analysis not in (None, self.analysis)

    def by(self, method: str, analysis: Analysis) -> "Certificate":
        """Return the certificate as one of this method and analysis; parts made by others say by which, and when."""
        if (method, analysis) == (self.method, self.analysis):
            return self
        parts = {
            name: replace(
                part,
                method=part.method or self.method,
                day=part.day or self.day,
                analysis=part.analysis or self.analysis,
            )
            for name, part in self.parts.items()
        }
        return replace(self, method=method, analysis=analysis, parts=parts)

    @property
    def minutes(self) -> float:
        """Return the minutes that all parts took."""
        return sum(part.minutes for part in self.parts.values())


def save(certificate: Certificate, out: Path) -> None:
    """Write `certificate.json` into a folder."""
    write_json(out / CERTIFICATE, codec.encode(certificate))


def load(path: Path) -> Certificate:
    """Return the certificate of a file; InputError if it is none that this version reads."""
    again = "certify anew with another --out"
    try:
        data = files.read_json(path)
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {error}", again) from error
    schema = data.get("schema") if isinstance(data, dict) else None
    if schema != SCHEMA:
        raise InputError(f"{path} has schema {schema!r}; this Longlook reads {SCHEMA}", again)
    try:
        return codec.decode(Certificate, data)
    except ValueError as error:
        raise InputError(f"{path} is damaged: {error}", again) from error
