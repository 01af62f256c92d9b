"""The pages of docs/reference that are made from the code as a whole: `make generate` writes them.

`python -m scripts.reference PAGE…` writes some of them alone. Each begins with MARK, by which readers and
`scripts.counts` tell it from a page that is written by hand.
"""

import hashlib
import inspect
import json
import re
import statistics
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from longlook.analysis.outputs import Output, Pooled
    from longlook.core import ClaimResult, Study
    from longlook.explain import Cause
    from longlook.instruments.atlas.claims.entry import Entry
    from longlook.metrics import Metric
    from longlook.study import Table

ROOT = Path(__file__).parents[1]
STUDIES = ROOT / "src" / "longlook" / "studies"
MADE_BY = "<!-- Made by "
"""The begin of a page that a command makes as a whole: this one, or `longlook stacks docs`."""
MARK = f"{MADE_BY}`make generate`: change the code and not this page. -->\n"
LONGEST_LINE = 190

_SENTENCE_END = re.compile(r"(?<=[.!?)]) (?=[A-Z`(])(?<! al\. )(?<!e\.g\. )")
_SIGN, _CHANGES = "Return a sign if ", "Return "
_BEFORE = """\
Until 2026-11-26 claims were judged by their direction alone.
“No difference” was called reproduced if ours was open and its interval held 0, however wide it was.
The entries of that day gave, by that rule:

| published | reproduced | contradicted | inconclusive | not testable | all |
|---|---:|---:|---:|---:|---:|
| number | 387 | 31 | 86 | 6 | 510 |
| direction | 131 | 105 | 45 | 0 | 281 |
| no difference | 63 | 42 | 9 | 2 | 116 |
| level | 65 | 25 | 6 | 9 | 105 |
| all | 646 | 203 | 146 | 17 | 1012 |"""
_PLANS = re.compile(r"<!-- Plans (\w+); earlier: (.*) -->")
_VALUE = re.compile(r"\{\w+(:[^}]*)?\}")


def is_generated(page: str) -> bool:
    """Return whether the text of a page says that it is made as a whole."""
    return page.startswith(MADE_BY)


def sentences(text: str) -> str:
    """Return a text with one sentence a line, each cut between words if it is too long for one line."""
    return "\n".join(line for sentence in _SENTENCE_END.split(" ".join(text.split())) for line in _cut(sentence))


def _cut(sentence: str) -> Iterator[str]:
    while len(sentence) > LONGEST_LINE:
        head, _, _ = sentence[:LONGEST_LINE].rpartition(" ")
        yield head
        sentence = sentence[len(head) + 1 :]
    yield sentence


def _page(title: str, head: str, body: Iterable[str]) -> str:
    return "\n\n".join([f"{MARK}# {title}", sentences(head), *(part.strip("\n") for part in body)]) + "\n"


def metrics() -> str:
    """Return the page of metrics: a section for each, in alphabetical order."""
    from longlook.core import registry

    return _page(
        "Metrics",
        "A metric is one number per trial, computed from the trial's [timeline](timeline.md) and nothing else. "
        "A missing value is never zero: if the timeline does not hold what a metric needs, the sample has no value "
        "and gives the reason. Priming connections, their objects and their packets are never measured. "
        "[The glossary](glossary.md#terms-of-metrics) defines the terms.",
        map(metric_section, registry.load("metrics").values()),
    )


def _whole(text: str) -> str:
    return "\n".join(_cut(text))


_QUANTITIES = {
    "ratio": "a ratio",
    "amount": "an amount by differences",
    "count": "a count by differences",
    "share": "a share by differences",
    "index": "an index by its distance from 1",
}


def metric_section(metric: "Metric") -> str:
    """Return a metric as a section of Markdown with one sentence a line."""
    needs = ", ".join(f"`{kind}`" for kind in metric.needs)
    facts = f"{metric.label} ({metric.unit}); {metric.better.value} is better; reads {needs}."
    without = "\nHas no meaning in virtual time without processors ([processors](../explanation/processors.md))."
    engine = without if metric.real_time else ""
    engine += "\nIn real time alone." if metric.counted else ""
    margin = f"{metric.margin.size:g} {metric.effect_unit}"
    compared = f"Compared as {_QUANTITIES[metric.quantity.value]}; a difference within {margin} does not matter."
    reason = f"Reason: {metric.margin.reason}."
    return f"## `{metric.name}`\n{facts}\n{sentences(metric.summary)}{engine}\n{compared}\n{_whole(reason)}\n"


def causes() -> str:
    """Return the page of causes: a section for each, in alphabetical order."""
    from longlook.explain import causes as known

    return _page(
        "Causes",
        "[`longlook explain`](../guide/explain.md) can suspect these causes if an arm lost. "
        "Each is a file in `src/longlook/causes/`; [a new cause](../../CONTRIBUTING.md#add-a-cause) is one new file. "
        "A detector sees one round of both arms: packets at the link, the logs of the ends, and "
        "[the ledger](ledger.md) of each. It does not look at the names of arms, so it cannot be tuned to one. "
        "Its finding is *suspected*, with a strength: the excess of the loser in the classes of time that could be "
        "shorter without the cause, and at most the time that the cause itself lasted. "
        "If both arms are slowed alike, there is no excess, and nothing is suspected that explains less than 5 % of "
        "the gap. Trials in which one thing is changed decide between causes of the same time. "
        "A cure of both arms is one of the path, one by [surgery](link.md#surgery) means single packets of the loser. "
        "A transplant gives the cause to the winner, a dose tries several values. "
        "A change that neither a stack nor the kernel can make is *untestable*, and the reason names the stacks that "
        "can, if any. "
        "In brackets stands whose doing a cause is: the server's, the client's or the path's. "
        "“Its” and “it” in a sentence are the arm that lost. "
        "A number in a sentence stands as … here, and is the median over the rounds that showed the cause.",
        map(cause_section, known().values()),
    )


def cause_section(cause: "Cause") -> str:
    """Return a cause as a section of Markdown with one sentence a line."""
    from longlook.explain import Says

    classes = ", ".join(f"`{name}`" for name in cause.classes) or "the whole load"
    needs = ", ".join(f"`{kind}`" for kind in cause.needs) or "the link's log alone"
    begin = "the load takes longer, because" if cause.says is Says.WHY else "the gap arises"
    lines = [
        f"## `{cause.name}`",
        f"{cause.title} ({cause.role}): {begin} {_VALUE.sub('…', cause.sentence)}.",
        f"It is suspected if {first_sentence(cause.detect.__doc__, _SIGN)}.",
        f"To test it: {first_sentence(cause.interventions.__doc__, _CHANGES)}.",
        f"Without it {classes} can be shorter; its detector needs {needs}.",
        f"Source: {cause.source}.",
    ]
    return "\n".join(part for line in lines for part in _cut(line)) + "\n"


def first_sentence(text: str | None, begin: str) -> str:
    """Return a docstring's first sentence without its beginning and full stop; SystemExit if it begins otherwise."""
    paragraph = " ".join(inspect.cleandoc(text or "").split("\n\n")[0].split())
    if not paragraph.startswith(begin):
        raise SystemExit(f"the docstring {paragraph!r} does not begin with {begin!r}: state what is seen, or changed")
    return paragraph.removeprefix(begin).partition(". ")[0].rstrip(".")


def commands() -> str:
    """Return the page of commands: a section for each, with its arguments and options."""
    import typer

    from longlook.cli import app

    root = typer.main.get_command(app)
    return _page(
        "Commands",
        "`longlook COMMAND --help` prints the same on a terminal. "
        "[README](../../README.md#more-commands) has examples and the exit codes.",
        (_command_section(f"longlook {name}", command) for name, command in _leaves(root)),
    )


def _leaves(command: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the commands below a group of typer's, whose classes have no public names, with their paths."""
    inner: Mapping[str, Any] = getattr(command, "commands", {})
    for name in sorted(inner):
        yield from _leaves(inner[name], f"{path} {name}".strip())
    if not inner and not command.hidden:
        yield path, command


def _command_section(name: str, command: Any) -> str:
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    usage = " ".join([f"    {name}", *(_argument(each) for each in arguments), "[OPTIONS]"])
    help_text = inspect.cleandoc(command.help or "").replace("\b", "").partition("\f")[0]
    paragraphs = [sentences(_plain(paragraph)) for paragraph in help_text.split("\n\n")]
    options = [each for each in command.params if each not in arguments and not each.hidden and each.name != "help"]
    items = [_option(each) for each in (*arguments, *options)]
    return "\n\n".join([f"## {name}", usage, *paragraphs, "\n".join(filter(None, items))]) + "\n"


def _argument(each: Any) -> str:
    shown = _metavar(each).rstrip("…") + ("…" if each.nargs == -1 else "")
    return shown if each.required else f"[{shown}]"


def _metavar(each: Any) -> str:
    return str(each.metavar or each.name or "").strip("[]").upper()


def _option(each: Any) -> str:
    names = f"`{_metavar(each)}`"
    if each.param_type_name == "option":
        value = "" if each.is_flag else f" {each.metavar or 'VALUE'}"
        names = ", ".join(f"`{name}{value}`" for name in each.opts)
        names += "".join(f", `{name}`" for name in each.secondary_opts)
    text = _plain(" ".join((getattr(each, "help", None) or "").split()))
    default = each.default
    if default not in (None, False, (), []) and not callable(default):
        text += f" Default: `{getattr(default, 'value', default)}`."
    return "\n  ".join(_cut(f"- {names}: {text}" if text else f"- {names}"))


def _plain(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "\\<").replace("*", "\\*")


KEY_TABLES = {
    "study": ("Top level", "StudyTable"),
    "arms": ("`[arms.NAME]` and `[defaults]`", None),
    "workload": ("`[workload]`", None),
    "network": ("`[network]`, `[behind]`, `[second]`", None),
    "factors": ("`[[factors]]`", "FactorTable"),
    "contrasts": ("`[[contrasts]]`", "ContrastTable"),
    "analysis": ("`[analysis]`", "AnalysisTable"),
    "capture": ("`[capture]`", "CaptureTable"),
    "figure": ("`[figure]`", "FigureTable"),
    "population": ("`[population]`", "PopulationTable"),
    "claims": ("`[[claims]]`", "ClaimTable"),
    "hypotheses": ("`[[hypotheses]]`", "HypothesisTable"),
}
"""The tables of study/keys.toml: the heading of each, and its shape in study/schema.py if it has one."""


def study_keys() -> str:
    """Return the page of keys of study files, from study/keys.toml and the shapes of study/schema.py.

    It ends with what a trial measures of each setting of the kernel's TCP and of each knob.
    """
    from longlook.analysis.effects import knob_rows, tcp_rows
    from longlook.study import schema

    texts = tomllib.loads((ROOT / "src" / "longlook" / "study" / "keys.toml").read_text(encoding="utf-8"))
    return _page(
        "Keys of study files",
        "[Study files](studies.md) has the rules that hold for several keys, and units. "
        "The value of a key that is marked V may [vary with time](study-network.md#values-that-vary).",
        [
            *(
                f"## {heading}\n| key | meaning | default |\n|---|---|---|\n"
                + "\n".join(_key_row(each, getattr(schema, shape) if shape else None) for each in texts[name])
                for name, (heading, shape) in KEY_TABLES.items()
            ),
            "## Settings and knobs that trials show\n"
            "[Proofs](studies.md#proofs-in-each-trial) has the rules.\n\n"
            "| setting of TCP | shown in each trial by |\n|---|---|\n" + "\n".join(tcp_rows()),
            "| knob | shown in each trial by | shown by a trace |\n|---|---|---|\n" + "\n".join(knob_rows()),
        ],
    )


def _key_row(row: Mapping[str, Any], shape: "type[Table] | None") -> str:
    names = ", ".join(f"`{key}`" for key in row["keys"]) + (" V" if row.get("varies") else "")
    return f"| {names} | {row['meaning']} | {row.get('default') or _default(row['keys'][0], shape)} |"


def _default(key: str, shape: "type[Table] | None") -> str:
    fields = {field.alias or name: field for name, field in shape.model_fields.items()} if shape else {}
    field = fields.get(key)
    if field is None or field.default is None:
        return "none"
    if field.is_required():
        return "required"
    return f"`{field.default}`" if isinstance(field.default, str | bool) else f"{field.default:g}"


_UNITS = {
    "time": "a time, `1.2s`",
    "rate": "a rate, `18 Mbit/s`",
    "size": "a size, `60KB`",
    "size or packets": "a size, or `40 packets`",
    "share": "a share, `45 %`",
    "count": "a number",
    "state of a sender": "a state, `slow_start or recovery`",
}
_FORMS = {
    "level": "at each time: each value holds until the next",
    "moments": "when something happens, not `at` a time",
    "total": "one value for a span, not `at` a time",
    "whole load": "one value for the load, without a time",
}


def expectations() -> str:
    """Return the page of what expectations may be about: a table of the observables, and one of the scenarios."""
    from longlook.study.files import list_scenarios
    from longlook.timeline import OBSERVABLES

    star = " \\*"
    quantities = [
        f"| `{each.name}`{star if each.of_end else ''} | {_UNITS[each.dimension.value]} | {_FORMS[each.form.value]} "
        f"| {each.summary} |"
        for each in OBSERVABLES.values()
    ]
    listed = [f"| `{each.id}` | {each.question} | {each.source} |" for each in list_scenarios()]
    return _page(
        "Quantities of expectations",
        "[Scenarios](../guide/scenarios.md) and every other study may [expect](studies.md#expect) something of these "
        "quantities, and of every [metric](metrics.md). "
        "A quantity that is marked * is of a sender: of the server, or with `client_` in front of its name of the "
        "client. It needs a [trace](capture.md) of that end. "
        "A full packet is the largest that the sender had sent by then.",
        [
            "| quantity | bounds | has a value | meaning |\n|---|---|---|---|\n" + "\n".join(quantities),
            "## Scenarios that come with Longlook\n"
            "| `longlook run` | question | source |\n|---|---|---|\n" + "\n".join(listed),
        ],
    )


@cache
def shipped(name: str) -> "Study":
    """Return a study that comes with Longlook."""
    from longlook.study.files import read_study

    return read_study(STUDIES / f"{name}.toml")


def studies() -> str:
    """Return the page of shipped studies: by source, with cells, trials and question."""
    from longlook.instruments.atlas.papers import PAPERS, paper_key, reading_order
    from longlook.study.plan import chosen_cells, count_trials

    sections = []
    names = sorted((path.stem for path in STUDIES.glob("*.toml")), key=reading_order)
    for paper in PAPERS:
        rows = []
        for name in names:
            if paper_key(name) == paper.key:
                study = shipped(name)
                cells = len(chosen_cells(study))
                size = f"{cells} cell{'s' * (cells > 1)}, {count_trials(study, cells)} trials"
                rows.append(f"- `{name}` ({size}): {study.question}")
        items = ["\n  ".join(_cut(row)) for row in rows]
        if items:
            sections.append(f"## {paper.title}\n{sentences(paper.cited + '.')}\n\n" + "\n".join(items))
    return _page(
        "The studies",
        "These studies come with Longlook; `longlook study show NAME` prints one, `longlook run NAME` runs it. "
        "The `notes` of a study list where conditions differ from its source's. "
        "[The papers' studies](../results/papers.md) has the findings, [a table](atlas-table.md) the claims by result.",
        sections,
    )


def atlas() -> str:
    """Return the page of the atlas' entries: what sources state by result, and claims by study."""
    from longlook.core import Agreement, ClaimKind
    from longlook.instruments.atlas.claims.counts import (
        MIXED,
        RULE,
        STATEMENT_RESULTS,
        counts_by_kind,
        in_words,
        result_counts,
        statement_counts,
        statements,
    )
    from longlook.instruments.atlas.content import SummaryRow, summary_row
    from longlook.instruments.atlas.page import summary_markdown
    from longlook.instruments.atlas.papers import PAPERS, checks_laboratory, paper_key, reading_order
    from longlook.report import markdown_rows
    from scripts import claim_counts

    files = {path.stem: path for path in STUDIES.glob("*.toml")}
    entries, judged = claim_counts.entries(), claim_counts.judged()
    papers = [paper.key for paper in PAPERS]
    digest, earlier = _earlier_entries(entries)
    rows = []
    for name in sorted(files, key=lambda name: (papers.index(paper_key(name)), reading_order(name))):
        study = shipped(name)
        if name in entries:
            plan_hash = "another" if name in earlier else entries[name].plan_hash
            rows.append(summary_row(study, entries[name], plan_hash))
        elif not checks_laboratory(study.source):
            rows.append(SummaryRow(name, paper_key(name), {}, None, "not run yet"))
    claims = [item for found in judged.values() for item in found]

    def table(header: Sequence[str], counted: Mapping[str, Mapping[str, int]]) -> str:
        shown = [[name, *map(str, counts.values()), str(sum(counts.values()))] for name, counts in counted.items()]
        return markdown_rows([*header, "all"], shown, frozenset(range(1, len(header) + 1)))

    papers_of: dict[str, str] = {}
    for name in sorted(judged, key=lambda name: papers.index(paper_key(name))):
        for item in judged[name]:
            papers_of.setdefault(item.claim.statement, paper_key(name))
    by_paper = {
        key: statement_counts(item for item in claims if papers_of[item.claim.statement] == key) for key in papers
    }
    mixed = [item for item in statements(claims) if item.result == MIXED]
    cells = {str(kind): result_counts(item for item in claims if item.claim.kind is kind) for kind in ClaimKind}
    return _page(
        "The atlas: results by study",
        "These are the entries of this repository (`docs/data/entries`); [the atlas](../guide/claims.md) shows them "
        f"cell by cell. {RULE} [Method](../explanation/method.md#published-claims) has the whole rule.",
        (
            "## Numbers and sentences of sources, each once\n"
            "A statement is mixed if its cells differ; its cells that are not testable or not run are left aside.\n\n"
            + table(["published", *STATEMENT_RESULTS], {**counts_by_kind(claims), "all": statement_counts(claims)}),
            table(
                ["paper", *STATEMENT_RESULTS], {key: counts for key, counts in by_paper.items() if any(counts.values())}
            ),
            "## Statements that are mixed\n| published | cells |\n| --- | --- |\n"
            + "\n".join(f"| `{item.name}` | {in_words(item.in_order)} |" for item in mixed),
            "## How far sizes differ\n" + _sizes(claims),
            "## Claims about cells\n"
            + table(["published", *Agreement], {**cells, "all": result_counts(claims)})
            + "\n"
            + _BEFORE,
            "## Claims about cells by study\n" + summary_markdown(rows),
            f"<!-- Plans {digest}; earlier: {' '.join(sorted(earlier)) or 'none'} -->",
        ),
    )


def _sizes(claims: "Iterable[ClaimResult]") -> str:
    """Return how far the ratios of published numbers and ours differ, of all whose direction is found again."""
    from longlook.analysis import SIZE_FACTOR, is_clipped
    from longlook.core import Agreement

    found = {
        item.claim.statement: item.factor
        for item in claims
        if item.result in (Agreement.SAME_SIZE, Agreement.OTHER_SIZE)
        and item.factor is not None
        and not is_clipped(item.claim)
    }
    limits = (1.1, SIZE_FACTOR, 1.5, 2.0, 3.0, 5.0)
    rows = (f"| {limit:g} | {sum(factor <= limit for factor in found.values())} |" for limit in limits)
    return sentences(
        f"The direction of {len(found)} published numbers that are no bounds is found again. The ratio of the arms and "
        f"ours differ by a factor of {statistics.median(found.values()):.2f} in the median, and of "
        f"{max(found.values()):.1f} at most. A number that several cells repeat is taken once, at the last of them."
    ) + ("\n\n| factor of at most | numbers |\n|---:|---:|\n" + "\n".join(rows))


def _earlier_entries(entries: "Mapping[str, Entry]") -> tuple[str, set[str]]:
    """Return a digest of plans and entries, and the studies whose entry is of another plan than the study has now.

    To plan every study takes minutes. The hashes of tests/golden/plans.json stand for the code that plans, and a test
    compares these with it. If hashes, rounds and entries are as they were when the page was made, then the studies that
    the page names are still right; else all are planned.
    """
    from longlook.study.plan import make_plan

    hashes = json.loads((ROOT / "tests" / "golden" / "plans.json").read_text(encoding="utf-8"))
    facts = [(name, hashes.get(name), shipped(name).rounds, entry.plan_hash) for name, entry in entries.items()]
    digest = hashlib.sha256(json.dumps(sorted(facts)).encode()).hexdigest()[:16]
    page = ROOT / "docs" / "reference" / "atlas-table.md"
    known = _PLANS.search(page.read_text(encoding="utf-8")) if page.exists() else None
    if known is not None and known[1] == digest:
        return digest, set(known[2].split()) - {"none"}
    return digest, {name for name, entry in entries.items() if make_plan(shipped(name)).hash != entry.plan_hash}


def row_kinds() -> str:
    """Return the page of kinds of rows, states of senders, classes of the ledger and tables of all trials."""
    from longlook.analysis import TABLES
    from longlook.explain import CLASSES
    from longlook.timeline.events import EVENT_KINDS, SOURCES
    from longlook.timeline.states import STATES
    from longlook.timeline.timeline import KINDS

    def table(header: str, rows: Mapping[Any, str]) -> str:
        lines = (f"| `{name}` | {summary} |" for name, summary in rows.items())
        return f"| {header} |\n|---|---|\n" + "\n".join(lines)

    def item(name: object, summary: str) -> str:
        return f"- `{name}`: {sentences(summary)}".replace("\n", "\n  ")

    def output(each: "Output | Pooled") -> str:
        file = f"`{each.file}`" if each.file else "drawn, not written"
        return f"| {file} | {each.summary} | `{'`, `'.join(each.columns)}` |"

    return _page(
        "Kinds of rows",
        "[The timeline](timeline.md) has the columns and the rules of both tables of a trial, "
        "[states](timeline.md#states) the rules by which a state is found, [the ledger](ledger.md) the rules of its "
        "classes.",
        (
            "## `timeline.parquet`\n" + table("kind | the observer: the event; the columns that are used", KINDS),
            "## `events.parquet`\n" + "\n".join(item(*each) for each in EVENT_KINDS.items()),
            "### Sources\n" + table("source | what it is", SOURCES),
            "## States\n" + table("state | what it means", STATES),
            "## Classes of the ledger\nThe first that holds counts.\n\n" + table("class | it holds while", CLASSES),
            "## Tables of all trials\n"
            "An analysis makes these of the trials' files; each row also has `trial_id`, `arm`, `cell_id` and `round`. "
            "\nOnly the rows of `cpu_stacks.parquet` are pooled over the trials of a cell and arm, and have no further "
            "columns. \nA table without rows is not written.\n\n| table | a row | columns |\n|---|---|---|\n"
            + "\n".join(map(output, TABLES)),
        ),
    )


def presets() -> str:
    """Return the page of presets: a section for each source, with settings and notes."""
    from longlook.network.presets import Preset, list_presets

    def item(preset: Preset) -> str:
        values = ", ".join(f"`{key.removeprefix('network.')} = {value}`" for key, value in preset.settings.items())
        needs = f"; must be set: {', '.join(f'`{key}`' for key in preset.needs)}" if preset.needs else ""
        lines = sentences(f"`{preset.name}`: {preset.summary}. {values}{needs}. {preset.notes}")
        return "- " + lines.replace("\n", "\n  ")

    sources: dict[str, list[Preset]] = {}
    for preset in list_presets():
        sources.setdefault(preset.source, []).append(preset)
    return _page(
        "Presets of the network",
        'A preset begins from the settings of a published path: `preset = "NAME"` under `[network]` of a study, or '
        "`--preset NAME` of `longlook link` and `--on NAME` of `longlook compare`. "
        "An explicit setting overrides it: `rate` overrides the rates of both directions, `up.rate` one of them, "
        "`rtt` the delays too. "
        "A factor may vary `network.preset`. "
        "`longlook link presets` prints the same.",
        (
            "\n".join([f"## {names[0].name.partition('-')[0]}", sentences(source + "."), "", *map(item, names)])
            for source, names in sources.items()
        ),
    )


def certificate() -> str:
    """Return the page with the tables of the certificate of this repository."""
    from longlook.instruments.certify import document
    from longlook.instruments.certify.certificate import load

    made = load(ROOT / "docs" / "data" / "certificate.json")
    headings = {
        document.FACTS: "Scale, day and machines",
        document.RATES: "Rates of errors",
        document.POWER: "Known differences that are found",
        document.SMALLEST: "The smallest difference that is found",
        document.REPEATS: "Repeats on a disturbed host",
        document.RUNS: "Trials",
    }
    return _page(
        "The certificate",
        "`longlook certify` made these tables, part by part, on machines on which other work ran, too "
        "([trust](../explanation/trust.md) explains the parts). "
        "Intervals are exact binomial ones (Clopper and Pearson, Biometrika 26, 1934). "
        "A level has an upper end, or two ends of a band. *Held*: all of the interval is within; *compatible*: part of "
        "it is; *measured*: no level is promised. "
        "*Missed*: none of it is, and errors are more frequent; *too wide*: none of it is, and errors are less "
        "frequent. "
        "A difference is found if p is below 0.01 in the right direction. "
        "*A longer round trip*: packets wait at their senders for a random time of up to this percentage of the round "
        "trip. *Loads that take longer*: contrasts of two stacks, moved until one is slower by exactly this much. "
        "A smallest difference counts only if every larger one that was tried is found as well.",
        (
            "\n".join([f"## {heading}", f"| {header} |", "|---" * (header.count(" | ") + 1) + "|", *rows(made)])
            for header, rows in document.TABLES.items()
            for heading in [headings[header]]
        ),
    )


PAGES: Mapping[str, Callable[[], str]] = {
    "docs/reference/metrics.md": metrics,
    "docs/reference/causes.md": causes,
    "docs/reference/commands.md": commands,
    "docs/reference/row-kinds.md": row_kinds,
    "docs/reference/study-keys.md": study_keys,
    "docs/reference/expectations.md": expectations,
    "docs/reference/presets.md": presets,
    "docs/reference/study-list.md": studies,
    "docs/reference/atlas-table.md": atlas,
    "docs/reference/certificate.md": certificate,
}
"""The pages that this module makes, each with its function."""


def main(pages: list[str]) -> None:
    """Write the pages that are named; raise SystemExit with the list of pages if a page is not made here."""
    unknown = [page for page in pages if page not in PAGES]
    if unknown or not pages:
        sys.exit(f"usage: python -m scripts.reference PAGE…, of {', '.join(PAGES)}")
    for page in pages:
        (ROOT / page).write_text(PAGES[page](), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
