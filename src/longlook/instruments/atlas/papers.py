"""The papers whose findings studies quote, by the first part of a study's name: `kakhki2017-fig6a`."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from longlook.core import Study

OWN = "own"
"""The key under which studies that repeat no paper stand."""

_NAMED_AFTER_PAPER = re.compile(r"[a-z]+\d{4}")


@dataclass(frozen=True)
class Paper:
    """A publication, or the questions that come from none. `cited` is how it is quoted, without a figure or section."""

    key: str
    title: str
    cited: str


PAPERS = (
    Paper("kakhki2017", "Taking a Long Look at QUIC", "Kakhki, Jero, Choffnes, Nita-Rotaru and Mislove, IMC 2017"),
    Paper(
        "langley2017",
        "The QUIC Transport Protocol: Design and Internet-Scale Deployment",
        "Langley and others, SIGCOMM 2017",
    ),
    Paper("yu2021", "Dissecting Performance of Production QUIC", "Yu and Benson, WWW 2021"),
    Paper(
        "demello2022", "Investigating “Taking a Long Look at QUIC”", "de Mello, Mori, Roy, Zhang and Zhou, Purdue 2022"
    ),
    Paper(
        "fastly2020",
        "Measuring QUIC vs TCP: computational efficiency",
        "Oku and Iyengar, Fastly 2020, as a second source reports it",
    ),
    Paper("zhang2024", "QUIC is not Quick Enough over Fast Internet", "Zhang and others, WWW 2024 (abstract)"),
    Paper("wong2020", "A reproduction of the fairness of QUIC", "Wong and Tieu 2020, as de Mello and others report it"),
    Paper("corbel2019", "Emulated connections and the fairness of QUIC", "Corbel and others, NTMS 2019"),
    Paper(
        "mishra",
        "Understanding Speciation in QUIC Congestion Control",
        "Mishra, Lim and Leong, IMC 2022; Mishra and Leong, IMC 2023",
    ),
    Paper(
        "prudentia", "Prudentia: a watchdog for fairness on the Internet", "Philip and others, SIGCOMM 2024 (method)"
    ),
    Paper(
        "phase",
        "On traffic phase effects in packet-switched gateways",
        "Floyd and Jacobson, Internetworking 3(3), 1992",
    ),
    Paper(OWN, "Questions of our own", "what papers left open, and what their answers depend on"),
)
"""The papers in the order in which they are shown."""

_BY_KEY = {paper.key: paper for paper in PAPERS}


def paper_key(study_id: str) -> str:
    """Return the key of the paper that a study repeats, by the study's name; OWN if it repeats none."""
    key = study_id.partition("-")[0]
    known = key in _BY_KEY or _NAMED_AFTER_PAPER.fullmatch(key)
    return key if known and "-" in study_id else OWN


def paper_of(study: Study) -> Paper:
    """Return the paper that a study repeats.

    A plug-in's study may be named after an author and a year that PAPERS lacks. It has a paper of its own, cited as the
    study's source. Every other unknown study is among the questions of our own.
    """
    key = paper_key(study.id)
    return _BY_KEY[key] if key in _BY_KEY else Paper(key, study.source or key, "")


def papers_of(studies: Iterable[Study]) -> list[Paper]:
    """Return the papers of studies, each once: first PAPERS in their order, then others by key."""
    found = {paper.key: paper for paper in map(paper_of, studies)}
    order = {paper.key: number for number, paper in enumerate(PAPERS)}
    known_last = len(order) - 1  # others come before the questions of our own
    return sorted(found.values(), key=lambda paper: (order.get(paper.key, known_last - 0.5), paper.key))


def reading_order(study_id: str) -> list[tuple[int, str]]:
    """Return a key that sorts studies by name with numbers as numbers: `fig6b` before `fig10`."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", study_id) if part]


def checks_laboratory(source: str | None) -> bool:
    """Return whether a study asks about the laboratory itself: its `source` begins with `none:`
    (docs/reference/studies.md)."""
    return (source or "").startswith("none:")
