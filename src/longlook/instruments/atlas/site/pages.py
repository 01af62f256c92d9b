"""The pages of the site as text: templates filled with the parts that the one page of the atlas has too."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from longlook.analysis import SIZE_FACTOR
from longlook.core import Contrast
from longlook.instruments.atlas.claims.counts import RULE, STATEMENT_RESULTS, counts_by_kind, statement_counts
from longlook.instruments.atlas.claims.dispute_charts import position_colours
from longlook.instruments.atlas.claims.dispute_flips import Flip
from longlook.instruments.atlas.claims.dispute_judge import ConclusionKind
from longlook.instruments.atlas.claims.marks import SYMBOLS, MarkCounts, mark_counts, marks_of
from longlook.instruments.atlas.claims.page import HELD_SYMBOLS, Piece, made, ours_text, pieces_of
from longlook.instruments.atlas.claims.survey import SurveyedDispute
from longlook.instruments.atlas.content import AtlasPaper, AtlasStudy
from longlook.instruments.atlas.maps import Map, map_of, maps_of, seen_from, without_run
from longlook.instruments.atlas.page import clock, headline, level_bars, state_text
from longlook.instruments.atlas.papers import OWN, Paper, paper_key
from longlook.instruments.atlas.site.model import AtlasSite, Page, card_of, described
from longlook.instruments.atlas.site.tables import CellTable, cell_tables, level_rows, on_own_page, why_anchor
from longlook.instruments.atlas.site.words import index_of, words_of
from longlook.report import bibliography, embedded_json, gradient, short_labels, template, wording

_FOLDER = "instruments/atlas/site"
FIRST, PAPERS, DISPUTES, ALPHABET, ABOUT = "index.html", "papers.html", "disputes.html", "a-z.html", "about.html"
_STUDY, _METRIC = re.compile(r"\bstudy ([\w-]+)"), re.compile(r"\bmetric (\w+)")
_BRACKETS = re.compile(r" ?\([^()]*\)")
_LISTED = 8
"""The disputes that the first page lists."""
_SHOWN = 4
"""The contrasts of a study's page that are drawn besides published ones; every one has its table."""


class Pages:
    """Draws the pages of a site, each once."""

    def __init__(self, site: AtlasSite) -> None:
        self.site = site
        self._studies = {item.study.id: item.study for item in site.atlas.survey.studies}
        self._crumb = "Atlas", FIRST
        self._drawn_maps: dict[str, list[Map]] = {}

    def first(self) -> tuple[Page, str]:
        """Return the first page: findings, disputes and papers."""
        site = self.site
        title = "What was published about QUIC and TCP, and what is found today"
        page = Page(FIRST, title, headline(site.atlas), card_of(FIRST))
        findings = [
            (finding, [self._map(finding.study, contrast) for contrast in finding.contrasts])
            for finding in site.findings
        ]
        sources = {name: item.surveyed.study.source or "A question of our own" for name, item in site.by_id.items()}
        return page, self._drawn(
            page,
            "index.html.j2",
            findings=findings,
            marks=mark_counts(site.atlas.claims),
            papers=sources,
            studies=site.studies,
            disputes=self._disputes(),
            chosen=self._disputes(decided=True)[:_LISTED],
            listed=self._papers(),
        )

    def lists(self) -> Iterator[tuple[Page, str]]:
        """Yield the pages that list papers and disputes."""
        papers = Page(
            PAPERS,
            "Papers",
            "The papers whose findings are tested again, each with every figure and number.",
            card_of(FIRST),
            (self._crumb,),
        )
        yield papers, self._drawn(papers, "papers.html.j2", listed=self._papers())
        disputes = Page(
            DISPUTES,
            "Where sources contradict each other",
            "Questions to which papers give different answers, and the settings on which the answer depends.",
            card_of(FIRST),
            (self._crumb,),
            "Disputes",
        )
        yield disputes, self._drawn(disputes, "disputes.html.j2", disputes=self._disputes())

    def paper(self, paper: AtlasPaper) -> tuple[Page, str]:
        """Return the page of a paper."""
        path = self.site.papers[paper.paper.key]
        about = f"{paper.paper.cited}: {len(paper.studies)} studies, {len(paper.claims)} claims, run again today."
        page = Page(
            path,
            paper.paper.title,
            described(about),
            card_of(path),
            (self._crumb, ("Papers", PAPERS)),
            paper.paper.title,
        )
        studies = [
            (item, f"{page.root}{self.site.studies[item.id]}", self._first_map(item, page), mark_counts(item.claims))
            for item in paper.studies
        ]
        known = bibliography([paper.paper.cited], self.site.facts.longlook, None)
        return page, self._drawn(
            page,
            "paper.html.j2",
            paper=paper,
            studies=studies,
            marks=mark_counts(paper.claims),
            by_kind=counts_by_kind(paper.claims) if paper.claims else {},
            rule=RULE,
            reference="" if known.unknown or paper.paper.key == OWN else known.text,
        )

    def study(self, paper: AtlasPaper, item: AtlasStudy) -> tuple[Page, str]:
        """Return the page of a study: the answer, figures, explanations, claims, every cell, and its provenance."""
        site, found, path = self.site, self.site.found.get(item.id), self.site.studies[item.id]
        study = item.surveyed.study
        answer = [] if found is None else wording.answer(found.content)
        crumbs = self._crumb, ("Papers", PAPERS), (paper.paper.title, site.papers[paper.paper.key])
        page = Page(path, study.title, described(study.question, *answer), card_of(path), crumbs)
        linked, maps = self._linked(item), self._maps(item)
        own = [each for each in maps if each.published is None]
        tables = [] if found is None else cell_tables(linked, found)
        disputes = {each.dispute.id: each.dispute.question for each in site.atlas.survey.disputes}
        labels = short_labels(study)
        return page, self._drawn(
            page,
            "study.html.j2",
            item=linked,
            answer=answer,
            counts=mark_counts(item.claims),
            maps=[each for each in maps if each.published is not None] + own[:_SHOWN],
            tables=tables,
            levels=[] if found is None else level_rows(found),
            bars=level_bars(linked.claims),
            marks={each.claim.id: marks_of(each.result, each.claim.kind) for each in linked.claims},
            whys=_whys(linked, tables),
            cells={}
            if found is None
            else {name: " · ".join(cell.values()) for name, cell in found.entry.cells.items()},
            arms=[labels[arm.name] for arm in study.arms],
            disputes=[(disputes[name], site.disputes[name]) for name in item.disputes],
            why_anchor=why_anchor,
        )

    def dispute(
        self, item: SurveyedDispute, charts: Mapping[str, str], alternatives: Mapping[str, str]
    ) -> tuple[Page, str]:
        """Return the page of a dispute; `charts` are SVG by piece of evidence, `alternatives` the same in words."""
        site, path = self.site, self.site.disputes[item.dispute.id]
        conclusion = self._conclusion(item)
        page = Page(
            path,
            item.dispute.question,
            described(conclusion),
            card_of(path),
            (self._crumb, ("Disputes", DISPUTES)),
            item.dispute.id.replace("-", " "),
        )
        pieces = self.pieces(item)
        sources = dict.fromkeys(piece.judged.evidence.study for piece in pieces)
        return page, self._drawn(
            page,
            "dispute.html.j2",
            item=replace(item, flips=tuple(map(self._flip, item.flips))),
            conclusions=[f"{wording.capital(part)}." for part in conclusion.rstrip(".").split("; ")],
            named=self._named,
            names={name: self._source(name) for name in sources},
            pieces=pieces,
            charts=alternatives,
            titles={piece.chart: piece.title for piece in pieces},
            files={name: picture_name(name) for name in charts},
            sizes={name: _size(svg) for name, svg in charts.items()},
            shades=position_colours(item.dispute),
            studies=site.studies,
            sources=[(self._title(name), site.studies[name]) for name in sources],
        )

    def alphabet(self) -> tuple[Page, str]:
        """Return the page of all pages by title, with the index of the search."""
        page = Page(
            ALPHABET,
            "Everything from A to Z",
            "Every paper, study and dispute of the atlas by its title, with a search by whole words.",
            card_of(FIRST),
            (self._crumb,),
            "A–Z",
        )
        items = sorted(self._items(), key=lambda item: (item["title"].lower(), item["link"]))
        letters: dict[str, list[dict[str, str]]] = {}
        for item in items:
            first = next((letter for letter in item["title"].upper() if letter.isalnum()), "#")
            letters.setdefault(first if first.isascii() and first.isalpha() else "0-9", []).append(item)
        return page, self._drawn(
            page, "a-z.html.j2", letters=list(letters.items()), index=embedded_json(index_of(self._indexed()))
        )

    def about(self) -> tuple[Page, str]:
        """Return the page about the atlas: marks, method, how to add a paper and to report an error, and citation."""
        site = self.site
        page = Page(
            ABOUT,
            "About this atlas",
            "How published findings are tested again, what the marks mean, and how to add, correct and cite.",
            card_of(FIRST),
            (self._crumb,),
            "About",
        )
        return page, self._drawn(
            page,
            "about.html.j2",
            rule=RULE,
            size_factor=SIZE_FACTOR,
            marks=mark_counts(site.atlas.claims),
            example=site.findings[0].study if site.findings else "demo",
            contact=site.options.contact,
            contact_link=site.options.contact_link,
            contact_clause=f" ({site.options.contact})" if site.options.contact else "",
            reference=bibliography([], site.facts.longlook, None).text,
            versions=site.versions,
            programs=site.programs,
        )

    def pieces(self, item: SurveyedDispute) -> list[Piece]:
        """Return the evidence of a dispute as pages show it."""
        return pieces_of(item, self._studies)

    def _drawn(self, page: Page, name: str, **context: Any) -> str:
        text = template(f"{_FOLDER}/{name}").render(
            page=page,
            root=page.root,
            address=self.site.options.base,
            facts=self.site.facts,
            gradient=gradient(),
            wording=wording,
            mark_symbols=SYMBOLS,
            symbols=HELD_SYMBOLS,
            ours=ours_text,
            made=made,
            clock=clock,
            state_text=state_text,
            statement_results=STATEMENT_RESULTS,
            statement_counts=statement_counts,
            **context,
        )
        return "\n".join(line for line in map(str.rstrip, text.split("\n")) if line) + "\n"

    def _maps(self, item: AtlasStudy) -> list[Map]:
        """Return the figures of a study as its own page shows them."""
        if item.id not in self._drawn_maps:
            found = self.site.found.get(item.id)
            linked = self._linked(item)
            content = without_run(item) if found is None else found.content
            self._drawn_maps[item.id] = maps_of(linked, content, {} if found is None else found.anchors)
        return self._drawn_maps[item.id]

    def _linked(self, item: AtlasStudy, root: str = "") -> AtlasStudy:
        """Return a study with links to the tables of its own page, from that page or with the way to it."""
        path = self.site.studies[item.id]
        return on_own_page(item, self.site.found.get(item.id), f"{root}{path}" if root else path.rpartition("/")[2])

    def _map(self, study: str, contrast: Contrast) -> Map:
        """Return the figure of a contrast as the first page shows it."""
        found = self.site.found[study]
        return map_of(self._linked(self.site.by_id[study], "./"), found.content, contrast, found.anchors)

    def _first_map(self, item: AtlasStudy, page: Page) -> Map | None:
        """Return the first figure of a study as the page of its paper shows it."""
        first = next(iter(self._maps(item)), None)
        return (
            None if first is None else seen_from(first, f"{page.root}{self.site.studies[item.id].rpartition('/')[0]}/")
        )

    def _papers(self) -> list[tuple[Paper, str, MarkCounts]]:
        return [
            (paper.paper, self.site.papers[paper.paper.key], mark_counts(paper.claims))
            for paper in self.site.atlas.papers
        ]

    def _disputes(self, *, decided: bool = False) -> list[tuple[str, str, str]]:
        """Return the question, path and conclusion of each dispute, or only if trials decided it."""
        return [
            (item.dispute.question, self.site.disputes[item.dispute.id], described(self._conclusion(item)))
            for item in self.site.atlas.survey.disputes
            if not decided or item.conclusion.kind in (ConclusionKind.FLIPS, ConclusionKind.HOLDS)
        ]

    def _conclusion(self, item: SurveyedDispute) -> str:
        return f"{wording.capital(self._named(item.conclusion.text))}."

    def _named(self, text: str) -> str:
        """Return a text with the sources of studies in place of their names, and metrics in words."""
        named = _STUDY.sub(lambda match: self._source(match[1]), text)
        return _METRIC.sub(lambda match: match[1].replace("_", " "), named)

    def _flip(self, flip: Flip) -> Flip:
        """Return a flip in words: its sides may be studies, and its places name one."""
        before, after = (self._source(side) if flip.what == "study" else side for side in (flip.before, flip.after))
        return replace(flip, before=before, after=after, places=tuple(map(self._named, flip.places)))

    def _source(self, study: str) -> str:
        """Return what a study repeats, or its title if that is a question of our own."""
        item = self.site.by_id.get(study)
        if item is None:
            return study
        own = item.surveyed.study
        return _BRACKETS.sub("", own.source) if own.source and paper_key(study) != OWN else own.title

    def _title(self, study: str) -> str:
        item = self.site.by_id.get(study)
        return study if item is None else item.surveyed.study.title

    def _items(self) -> Iterator[dict[str, str]]:
        """Yield every page that the alphabet lists: its title, link, kind, and a line about it."""
        site = self.site
        for paper in site.atlas.papers:
            yield {
                "title": paper.paper.title,
                "link": site.papers[paper.paper.key],
                "kind": "paper",
                "about": paper.paper.cited,
            }
            for item in paper.studies:
                study = item.surveyed.study
                about = study.source or "a question of our own"
                yield {"title": study.title, "link": site.studies[item.id], "kind": "study", "about": about}
        for dispute in site.atlas.survey.disputes:
            link = site.disputes[dispute.dispute.id]
            yield {"title": dispute.dispute.question, "link": link, "kind": "dispute", "about": ""}

    def _indexed(self) -> Iterator[tuple[str, Mapping[str, set[str]]]]:
        """Yield the words of every page, by part: of a study one for each cell of a claim, with the study's own."""
        site = self.site
        for paper in site.atlas.papers:
            yield site.papers[paper.paper.key], {"": words_of(paper.paper.title, paper.paper.cited, paper.paper.key)}
            for item in paper.studies:
                study, labels = item.surveyed.study, short_labels(item.surveyed.study)
                own = words_of(
                    *(study.id, study.title, study.question, study.source or "", paper.paper.title, paper.paper.cited),
                    *labels.values(),
                    *(metric.replace("_", " ") for metric in study.metrics),
                    *(level.label for factor in study.factors for level in factor.levels),
                )
                yield site.studies[item.id], {"": own}
        for dispute in site.atlas.survey.disputes:
            says = (text for each in dispute.dispute.positions for text in (each.name, each.says, each.source))
            words = words_of(dispute.dispute.id, dispute.dispute.question, dispute.conclusion.text, *says)
            yield site.disputes[dispute.dispute.id], {"": words}


def picture_name(chart: str) -> str:
    """Return the file of a chart of a dispute."""
    return f"dispute-{chart}.svg"


def _size(svg: str) -> tuple[str, str]:
    """Return the width and height of an SVG that the report drew."""
    head = svg[: svg.index(">")]
    width, height = (head.split(f'{name}="', 1)[1].split('"', 1)[0] for name in (" width", " height"))
    return width, height


def _whys(item: AtlasStudy, tables: Sequence[CellTable]) -> dict[str, str]:
    """Return the links of explanations by the links of the cells that they are about."""
    page = "" if item.surveyed.run is None else item.surveyed.run.report or ""
    return {f"{page}#{row.anchor}": row.why for table in tables for row in table.rows if row.why}
