"""The content of a site: its pages with their addresses, and facts about all of them. Pure."""

import datetime
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import metadata
from pathlib import Path
from urllib.parse import quote, urlsplit

import longlook
from longlook.core import InputError
from longlook.instruments.atlas.claims.entries import Found
from longlook.instruments.atlas.content import Atlas, AtlasStudy
from longlook.instruments.atlas.site.findings import PlainFinding
from longlook.report import AUTHORS, slug

DESCRIPTION_CHARACTERS = 200
_EPOCH = "SOURCE_DATE_EPOCH"


@dataclass(frozen=True)
class SiteOptions:
    """The place of a site, and facts that only its publisher knows.

    `address` is the site's own on the web, which some readers of shared links need; without it all links are relative.
    `contact` is a mail address, a page's address or a sentence. `day` is the day as of which the site is built.
    """

    out: Path
    address: str = ""
    contact: str = ""
    day: str | None = None
    findings: Path | None = None

    def __post_init__(self) -> None:
        """Raise InputError for an address or a day that is none."""
        parts = urlsplit(self.address)
        if self.address and (
            parts.scheme not in ("https", "http") or not parts.netloc or parts.query or parts.fragment
        ):
            raise InputError(f"--address {self.address} is no address of a site", "such as https://example.org/atlas/")
        if self.day is not None:
            try:
                datetime.date.fromisoformat(self.day)
            except ValueError as error:
                raise InputError(f"--day {self.day} is no day", "such as 2026-11-28") from error

    @property
    def base(self) -> str:
        """The address with a slash at its end, or nothing."""
        return f"{self.address.rstrip('/')}/" if self.address else ""

    @property
    def contact_link(self) -> str:
        """The link of the contact, if it is an address."""
        if urlsplit(self.contact).scheme in ("https", "http"):
            return self.contact
        name, at, host = self.contact.partition("@")
        is_mail = at and name and "." in host and not set(self.contact) & set(" <>\"'")
        return f"mailto:{quote(self.contact, safe='@')}" if is_mail else ""


@dataclass(frozen=True)
class Facts:
    """Facts for the foot of every page."""

    day: str
    entries: int
    longlook: str
    authors: str
    licence: str


@dataclass(frozen=True)
class Page:
    """A page. `crumbs` are the names and paths of the pages above it; `card` is the picture of a link to it."""

    path: str
    title: str
    description: str
    card: str
    crumbs: tuple[tuple[str, str], ...] = ()
    crumb: str = ""

    @property
    def root(self) -> str:
        """The way from the page to the first one."""
        return "../" * self.path.count("/")

    @property
    def file(self) -> str:
        """The name of its file."""
        return self.path.rpartition("/")[2]


@dataclass(frozen=True)
class AtlasSite:
    """An atlas with its findings and options. `found` are runs by study."""

    atlas: Atlas
    found: Mapping[str, Found]
    findings: tuple[PlainFinding, ...]
    options: SiteOptions

    @cached_property
    def studies(self) -> dict[str, str]:
        """The path of each study's page."""
        return _paths("studies", (item.id for item in self.atlas.studies))

    @cached_property
    def papers(self) -> dict[str, str]:
        """The path of each paper's page, by key."""
        return _paths("papers", (paper.paper.key for paper in self.atlas.papers))

    @cached_property
    def disputes(self) -> dict[str, str]:
        """The path of each dispute's page."""
        return _paths("disputes", (item.dispute.id for item in self.atlas.survey.disputes))

    @cached_property
    def by_id(self) -> dict[str, AtlasStudy]:
        """The studies by name."""
        return {item.id: item for item in self.atlas.studies}

    @cached_property
    def facts(self) -> Facts:
        """Facts for the foot of every page."""
        return Facts(
            day=self._day(),
            entries=len(self.found),
            longlook=longlook.__version__,
            authors=AUTHORS,
            licence=metadata("longlook")["License-Expression"],
        )

    @property
    def versions(self) -> list[str]:
        """The versions of Longlook that made the entries."""
        return sorted({run.entry.longlook for run in self.found.values() if run.entry.longlook})

    @property
    def programs(self) -> list[tuple[str, int]]:
        """The programs of the runs with the number of studies that have them."""
        counts = Counter(name for run in self.found.values() for name in run.entry.programs)
        return sorted(counts.items())

    def _day(self) -> str:
        """Return the day of the site: the day of `--day`, of SOURCE_DATE_EPOCH, or of the newest entry."""
        if self.options.day is not None:
            return self.options.day
        if epoch := os.environ.get(_EPOCH):
            try:
                return datetime.datetime.fromtimestamp(int(epoch), datetime.UTC).date().isoformat()
            except (ValueError, OverflowError, OSError) as error:
                raise InputError(
                    f"{_EPOCH} is {epoch!r}, which is no time", "seconds since 1970, or unset it"
                ) from error
        return max((run.entry.day for run in self.found.values()), default="without entries")


def _paths(folder: str, names: Iterable[str]) -> dict[str, str]:
    taken: set[str] = set()
    return {name: f"{folder}/{slug(name, taken)}.html" for name in names}


def card_of(path: str) -> str:
    """Return the path of the card of a page."""
    return f"cards/{path.removesuffix('.html').replace('/', '-')}.png"


def described(*texts: str) -> str:
    """Return a description of a page in one line: as much of the texts as search engines show."""
    text = " ".join(" ".join(texts).split())
    if len(text) <= DESCRIPTION_CHARACTERS:
        return text
    return text[:DESCRIPTION_CHARACTERS].rsplit(" ", 1)[0].rstrip(",;:") + " …"
