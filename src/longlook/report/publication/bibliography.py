"""References in BibTeX: Longlook, and whatever a study and its claims name as their source."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote

from longlook.report.publication import latex


@dataclass(frozen=True)
class _Entry:
    """An entry of a bibliography, and the patterns of the sources that mean it: one has to match."""

    key: str
    patterns: tuple[str, ...]
    text: str


_PAPERS = (
    _Entry(
        "kakhki2017quic",
        (r"IMC 2017", r"Kakhki"),
        """@inproceedings{kakhki2017quic,
  author    = {Kakhki, Arash Molavi and Jero, Samuel and Choffnes, David and Nita-Rotaru, Cristina and Mislove, Alan},
  title     = {Taking a Long Look at {QUIC}: An Approach for Rigorous Evaluation
               of Rapidly Evolving Transport Protocols},
  booktitle = {Proceedings of the 2017 Internet Measurement Conference (IMC)},
  pages     = {290--303},
  year      = {2017},
  doi       = {10.1145/3131365.3131368},
}""",
    ),
    _Entry(
        "kakhki2019quic",
        (r"CACM 2019",),
        """@article{kakhki2019quic,
  author  = {Kakhki, Arash Molavi and Jero, Samuel and Choffnes, David and Nita-Rotaru, Cristina and Mislove, Alan},
  title   = {Taking a Long Look at {QUIC}: An Approach for Rigorous Evaluation
               of Rapidly Evolving Transport Protocols},
  journal = {Communications of the ACM},
  volume  = {62},
  number  = {7},
  pages   = {86--94},
  year    = {2019},
  doi     = {10.1145/3330336},
}""",
    ),
    _Entry(
        "langley2017quic",
        (r"SIGCOMM 2017", r"Langley"),
        """@inproceedings{langley2017quic,
  author    = {Langley, Adam and others},
  title     = {The {QUIC} Transport Protocol: Design and Internet-Scale Deployment},
  booktitle = {Proceedings of the Conference of the ACM Special Interest Group on Data Communication (SIGCOMM)},
  pages     = {183--196},
  year      = {2017},
  doi       = {10.1145/3098822.3098842},
}""",
    ),
    _Entry(
        "yu2021dissecting",
        (r"Yu and Benson", r"WWW 2021"),
        """@inproceedings{yu2021dissecting,
  author    = {Yu, Alexander and Benson, Theophilus A.},
  title     = {Dissecting Performance of Production {QUIC}},
  booktitle = {Proceedings of the Web Conference 2021 (WWW)},
  year      = {2021},
  doi       = {10.1145/3442381.3450103},
}""",
    ),
    _Entry(
        "mishra2022speciation",
        (r"Mishra[^;]*\(?(?:IMC )?2022",),
        """@inproceedings{mishra2022speciation,
  author    = {Mishra, Ayush and Lim, Sherman and Leong, Ben},
  title     = {Understanding Speciation in {QUIC} Congestion Control},
  booktitle = {Proceedings of the 22nd ACM Internet Measurement Conference (IMC)},
  year      = {2022},
}""",
    ),
    _Entry(
        "mishra2023cambrian",
        (r"Mishra and Leong, IMC 2023",),
        """@inproceedings{mishra2023cambrian,
  author    = {Mishra, Ayush and Leong, Ben},
  title     = {Containing the {Cambrian} Explosion in {QUIC} Congestion Control},
  booktitle = {Proceedings of the 2023 ACM Internet Measurement Conference (IMC)},
  year      = {2023},
}""",
    ),
    _Entry(
        "zhang2024quick",
        (r"WWW 2024",),
        """@inproceedings{zhang2024quick,
  author    = {Zhang, Xumiao and others},
  title     = {{QUIC} is not Quick Enough over Fast Internet},
  booktitle = {Proceedings of the ACM Web Conference 2024 (WWW)},
  year      = {2024},
  doi       = {10.1145/3589334.3645323},
}""",
    ),
    _Entry(
        "demello2022quic",
        (r"de Mello",),
        """@misc{demello2022quic,
  author = {de Mello and Mori and Roy and Zhang and Zhou},
  title  = {A reproduction of {Taking a Long Look at QUIC} with {Chromium}'s {QUIC}},
  howpublished = {Purdue University},
  year   = {2022},
}""",
    ),
    _Entry(
        "philip2024prudentia",
        (r"Prudentia",),
        """@inproceedings{philip2024prudentia,
  author    = {Philip, Adithya Abraham and others},
  title     = {Prudentia: Findings of an {Internet} Fairness Watchdog},
  booktitle = {Proceedings of the ACM SIGCOMM 2024 Conference},
  year      = {2024},
}""",
    ),
    _Entry(
        "wong2020http3",
        (r"Wong and Tieu",),
        """@misc{wong2020http3,
  author = {Wong and Tieu},
  title  = {A reproduction of {Taking a Long Look at QUIC}},
  year   = {2020},
}""",
    ),
)
_RFC = re.compile(r"\bRFC (\d{3,5})\b")
_DRAFT = re.compile(r"\b(draft-[a-z0-9-]+)\b")
_BRACES = re.compile(r"[{}\\]")
"""BibTeX counts braces, also behind a backslash."""
AUTHORS = "The authors of Longlook"


@dataclass(frozen=True)
class Bibliography:
    """A bibliography in BibTeX, and the sources that have no entry in it: a sentence of a study each."""

    text: str
    unknown: tuple[str, ...]


def bibliography(sources: Iterable[str], longlook: str, digest: str | None) -> Bibliography:
    """Return the references of sources in the words of studies, behind Longlook's own.

    `longlook` is the version, and `digest` of the results, if they are exact.
    """
    note = f"Results {digest}" if digest else ""
    entries = {"longlook": _longlook(longlook, note)}
    unknown: dict[str, None] = {}
    for source in sources:
        found = _entries_of(source)
        entries |= found
        if not found:
            unknown[source] = None
    return Bibliography("\n\n".join(entries.values()) + "\n", tuple(unknown))


def _entries_of(source: str) -> dict[str, str]:
    found = {
        paper.key: paper.text
        for paper in _PAPERS
        if any(re.search(pattern, source) is not None for pattern in paper.patterns)
    }
    for number in _RFC.findall(source):
        found[f"rfc{number}"] = (
            f"@techreport{{rfc{number},\n  type = {{RFC}},\n  number = {{{number}}},\n"
            f"  title = {{RFC {number}}},\n  institution = {{RFC Editor}},\n"
            f"  url = {{https://www.rfc-editor.org/rfc/rfc{number}}},\n}}"
        )
    for draft in _DRAFT.findall(source):
        found[draft] = (
            f"@misc{{{draft},\n  title = {{{latex.escaped(draft)}}},\n  howpublished = {{Internet-Draft, IETF}},\n"
            f"  url = {{https://datatracker.ietf.org/doc/{quote(draft)}/}},\n}}"
        )
    return found


def _longlook(version: str, note: str) -> str:
    lines = [
        "@software{longlook,",
        f"  author  = {{{{{AUTHORS}}}}},",
        "  title   = {Longlook: a laboratory for transport protocols},",
        f"  version = {{{latex.escaped(_BRACES.sub('', version))}}},",
        *([f"  note    = {{{latex.escaped(note)}}},"] if note else []),
        "}",
    ]
    return "\n".join(lines)
