"""The sites of a run: each is resolved once a round and pinned, and what its first trial saw holds for the round."""

import json
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from longlook.core import (
    BY_DIGEST,
    COMPARE,
    URL,
    ConnectionState,
    ExpectedAnswer,
    Identity,
    InputError,
    Job,
    LonglookError,
    MachineError,
    Outcome,
    Program,
    Run,
    Site,
    SiteUrl,
    Trial,
    parse_site_url,
    registry,
)
from longlook.lab import judge_site, plan_of
from longlook.outside.access import SiteAccess
from longlook.outside.budget import Budget
from longlook.outside.look import H3, LOOK_REQUESTS, Look, check, look_at
from longlook.outside.names import Names, kept_first, resolve

FILE = "sites.json"
"""The file of a run folder that has what the run saw of its sites."""


class SiteRefusesError(LonglookError):
    """A site asks for fewer requests; finished rounds are kept."""

    exit_code = MachineError.exit_code


def site_url_of(trial: Trial) -> SiteUrl | None:
    """Return the site that stands in place of a trial's server, None of a trial with a server of ours."""
    if not registry.stack(trial.server.stack).outside:
        return None
    return parse_site_url(str(trial.server.knobs[URL]))


@dataclass
class _Round:
    """All that is known of one site in one round, in one version of IP."""

    number: int
    address: str
    names: Names
    known: dict[str, ExpectedAnswer] = field(default_factory=dict)
    base_ns: dict[str, int] = field(default_factory=dict)
    certificate: str = ""


Key = tuple[SiteUrl, int]


class Sites:
    """The sites of the trials of one run. Its methods are called from one thread, trial by trial.

    `program` looks at sites. `home` enters the namespace with this machine's resolver. `say` gets notes.
    """

    def __init__(
        self,
        access: SiteAccess,
        program: Program,
        say: Callable[[str], None],
        home: Callable[[], AbstractContextManager[None]] = nullcontext,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._access, self._program, self._say = access, program, say
        self._home, self._sleep = home, sleep
        self._looks: dict[Key, Look] = {}
        self._rounds: dict[Key, _Round] = {}
        self._last_round: int | None = None
        self._sizes: dict[SiteUrl, int] = {}
        self._record: list[dict[str, Any]] = []
        self._refused = ""

    def open(self, trials: Iterable[Trial]) -> None:
        """Look once at every site of trials; InputError if one cannot be measured."""
        asked: dict[Key, list[Trial]] = {}
        for trial in trials:
            if (url := site_url_of(trial)) is not None:
                asked.setdefault((url, plan_of(trial).version), []).append(trial)
        for key, of in asked.items():
            protocols = sorted({trial.protocol for trial in of})
            self._looks[key] = self._look(key, protocols, str(of[0].server.knobs.get(COMPARE, BY_DIGEST)))

    def _look(self, key: Key, protocols: list[str], compare: str) -> Look:
        url, version = key
        names = self._resolve(url, version)
        for address in names.addresses:
            self._budget(url).take(LOOK_REQUESTS, self._sizes.get(url, 0))
            look = look_at(self._program, url, address, self._access)
            self._note(url, "look", names=asdict(names), **asdict(look))
            self._budget(url).note_bytes(sum(answer.bytes for answer in look.answers.values()))
            if not look.is_dead:
                check(url, look, protocols, compare)
                self._sizes[url] = max(answer.bytes for answer in look.answers.values())
                self._tell(url, look, names, protocols)
                return look
            self._say(f"{url.host}: no answer at {address}: {look.bases['tcp']['error']}")
        raise InputError(f"{url.host} answers at none of its addresses: {', '.join(names.addresses)}", "is it up?")

    def _tell(self, url: SiteUrl, look: Look, names: Names, protocols: list[str]) -> None:
        tcp_ms = min(look.bases["tcp"]["connect_ns"]) / 1e6
        others = f" (one of {len(names.addresses)} addresses)" if len(names.addresses) > 1 else ""
        records = f"; HTTPS record {'; '.join(names.https)}" if names.https else "; no HTTPS record"
        alternative = look.answers["h2"].headers.get("alt-svc", "none") if "h2" in look.answers else "none"
        self._say(f"{url.host} is {look.address}{others}, {tcp_ms:.1f} ms away by TCP; Alt-Svc: {alternative}{records}")
        if H3 in protocols and "h3" not in alternative and not any("h3" in record for record in names.https):
            self._say(f"{url.host} speaks HTTP/3, and tells no browser so: neither by Alt-Svc nor by an HTTPS record")

    def pin(self, trial: Trial) -> tuple[Site, Identity]:
        """Return the site of a trial as its round has it, and how it proves who it is.

        The first trial of a round waits for the pause between rounds, and resolves the site. BudgetSpentError if the
        host was asked for enough.
        """
        url = parse_site_url(str(trial.server.knobs[URL]))
        key = url, plan_of(trial).version
        if trial.round != self._last_round:
            if self._last_round is not None:
                self._sleep(self._access.pause_s)
            self._last_round = trial.round
        known = self._rounds.get(key)
        if known is None or known.number != trial.round:
            known = self._rounds[key] = self._begin(trial.round, key)
        primes = trial.connection is not ConnectionState.COLD
        self._budget(url).take(2 if primes else 1, self._sizes.get(url, 0) * (2 if primes else 1))
        site = Site(url, known.address, self._access.user_agent, known.known, known.base_ns, known.certificate)
        return site, Identity(url.host, self._access.authorities, "", "", "")

    def _begin(self, number: int, key: Key) -> _Round:
        url, version = key
        names = self._resolve(url, version)
        before = self._looks[key].address
        address = kept_first(names.addresses, before)[0]
        if address != before:
            self._say(f"{url.host} is {address} from round {number + 1} on; it was {before}")
            self._looks[key] = replace(self._looks[key], address=address)
        self._note(url, "round", round=number, address=address, names=asdict(names))
        return _Round(number, address, names)

    def learn(self, job: Job, run: Run) -> None:
        """Take what a trial that has run saw of its site: the first that is ok says what its round is compared with."""
        site = job.site
        if site is None:
            return
        folder = Path(job.folder)
        bases = _lines(folder / "server.jsonl", "base")
        objects = _lines(folder / "client.jsonl", "object")
        passed = sum(direction.get("delivered_bytes", 0) for direction in run.link.values())
        self._budget(site.url).note_bytes(passed)
        self._note(
            site.url, "trial", trial=job.trial.id, round=job.trial.round, arm=job.trial.arm, outcome=run.outcome.value,
            reason=run.reason, bases=bases, headers=[line.get("headers") for line in objects],
        )  # fmt: skip
        known = self._rounds[site.url, plan_of(job.trial).version]
        if run.outcome is Outcome.OK and not known.known:
            known.known |= judge_site.answers_of(objects)
            known.base_ns |= judge_site.base_times_ns(bases)
            known.certificate = judge_site.certificate_of(bases)
        for line in objects:
            if line.get("status") in judge_site.TOO_MANY:
                after = (line.get("headers") or {}).get("retry-after")
                wait = f"wait {after} s" if after else "wait an hour"
                self._refused = f"{site.url.host} asks for fewer requests (HTTP status {line['status']}): {wait}"

    def raise_if_refused(self) -> None:
        """Raise SiteRefusesError if a site has asked for fewer requests: nothing more is asked of it."""
        if self._refused:
            raise SiteRefusesError(self._refused, "then go on with --resume; finished rounds are kept")

    def write(self, folder: Path) -> None:
        """Write what was seen of the sites beside the run's other files, after what earlier sessions saw."""
        file = folder / FILE
        before = json.loads(file.read_text()) if file.exists() else []
        file.write_text(json.dumps([*before, *self._record], indent=1) + "\n")
        self._record = []

    def _resolve(self, url: SiteUrl, version: int) -> Names:
        with self._home():
            return resolve(url.host, version, self._access.resolver)

    def _budget(self, url: SiteUrl) -> Budget:
        return Budget(url.host, self._access.most_requests, self._access.most_bytes)

    def _note(self, url: SiteUrl, event: str, **what: object) -> None:
        self._record.append({"event": event, "site": str(url), "unix_s": round(time.time(), 3), **what})


def _lines(file: Path, event: str) -> list[Mapping[str, Any]]:
    """Return the lines of one event in a program's output; what is no line is left to the judge."""
    if not file.exists():
        return []
    found: list[Mapping[str, Any]] = []
    for text in file.read_text(errors="replace").splitlines():
        try:
            line = json.loads(text)
        except ValueError:
            continue
        if isinstance(line, dict) and line.get("event") == event:
            found.append(line)
    return found
