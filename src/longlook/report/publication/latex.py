"""Tables and captions in LaTeX, for booktabs and siunitx; no text of a user or a program becomes a command."""

import re
from collections.abc import Iterable, Sequence

from longlook.core import Agreement, Contrast, Estimate, visible
from longlook.report import text, wording
from longlook.report.content import ReportContent
from longlook.report.contrasts.heatmap import contrast_heading
from longlook.report.layout import ordered
from longlook.report.provenance.method import CORRECTIONS

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "^": r"\textasciicircum{}",
    "_": r"\_",
    "%": r"\%",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    wording.NBSP: "~",
    "−": r"$-$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "≈": r"$\approx$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "→": r"$\to$",
    "↕": r"$\updownarrow$",
    "▲": r"$\triangle$",
    "▼": r"$\triangledown$",
    "µ": r"\textmu{}",
    "–": "--",
    "—": "---",
    "…": r"\dots{}",
    "·": r"$\cdot$",
    "’": "'",
    "≠": r"$\neq$",
    "∈": r"$\in$",
    "∞": r"$\infty$",
    "○": r"$\circ$",
    "✓": r"\checkmark{}",
    "✗": r"$\times$",
}
_UNITS = {
    "s": r"\second",
    "ms": r"\milli\second",
    "µs": r"\micro\second",
    "bit/s": r"\bit\per\second",
    "kbit/s": r"\kilo\bit\per\second",
    "Mbit/s": r"\mega\bit\per\second",
    "Gbit/s": r"\giga\bit\per\second",
}
"""Units that siunitx knows; others stand as they are."""
_QUANTITY = re.compile(rf"([+−-]?)(\d{{1,3}}(?:,\d{{3}})*(?:\.\d+)?|\d+(?:\.\d+)?)[{wording.NBSP} ](\S+)")
_NEEDS = r"% siunitx 3 or later: \usepackage{booktabs,siunitx,textcomp,amssymb,graphicx}"


def escaped(words: str) -> str:
    """Return a text on one line that LaTeX prints as it is; a letter that its usual fonts lack becomes `U+4E2D`."""
    line = " ".join(visible(words).splitlines())
    return "".join(
        _SPECIAL.get(letter) or (letter if _is_common(letter) else f"U+{ord(letter):04X}") for letter in line
    )


def _is_common(letter: str) -> bool:
    """Return whether a letter is of the Latin or the Greek script, which LaTeX's usual fonts have."""
    return letter.isascii() or "\u00a1" <= letter <= "\u024f" or "\u0370" <= letter <= "\u03ff"


def quantity(words: str) -> str:
    """Return a quantity of the report, such as `217 ms`, as siunitx has it; another text is escaped."""
    found = _QUANTITY.fullmatch(words)
    if found is None or found[3] not in _UNITS:
        return escaped(words)
    sign = "-" if found[1] in ("−", "-") else ""
    return rf"\qty{{{sign}{found[2].replace(',', '')}}}{{{_UNITS[found[3]]}}}"


def verdicts(content: ReportContent, contrast: Contrast, label: str) -> str:
    """Return the verdicts of a contrast as a table with its caption."""
    study, estimates = content.study, content.estimates_of(contrast)
    header, *rows = text.plain_rows(study, estimates)
    heading = escaped(contrast_heading(content, contrast))
    caption = f"{heading}. {method(content, estimates)}"
    numeric = text.numeric_columns(study)
    columns = "l" * (len(header) - numeric - 1) + "r" * numeric + "l"
    return _table(header, rows, columns, caption, label)


def claims(content: ReportContent, label: str) -> str:
    """Return published values and the values of this run as a table with its caption; claims about other cells are left
    out.
    """
    judged = [claim for claim in content.claims if claim.result is not Agreement.NOT_RUN]
    header, *rows = ([*row[:4], row[5]] for row in text.claim_rows(judged))  # without Welch's test, and the reason
    left_out = len(content.claims) - len(judged)
    beside = f" {left_out} claims are about cells that were not run." if left_out else ""
    caption = f"Published values and values of this run: {escaped(content.study.title)}.{beside} {versions(content)}"
    return _table(header, rows, "lrrrl", caption, label)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], columns: str, caption: str, label: str) -> str:
    """Return a table; its columns `r` hold quantities of ours, all others texts of anybody."""
    lines = [_line(map(escaped, header))]
    body = [
        _line(quantity(cell) if column == "r" else escaped(cell) for column, cell in zip(columns, row, strict=True))
        for row in rows
    ]
    return "\n".join(
        [
            _NEEDS,
            r"\begin{table}",
            r"  \centering\small",
            rf"  \caption{{{caption}}}",
            rf"  \label{{tab:{label}}}",
            rf"  \begin{{tabular}}{{{columns}}}",
            r"    \toprule",
            *(f"    {line}" for line in lines),
            r"    \midrule",
            *(f"    {line}" for line in body),
            r"    \bottomrule",
            r"  \end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def _line(cells: Iterable[str]) -> str:
    """Return a row. It begins with an empty group: the row before it takes a bracket or a star for its own argument."""
    return "{}" + " & ".join(cells) + r" \\"


def figure(file: str, heading: Sequence[str], content: ReportContent, contrast: Contrast | None, label: str) -> str:
    """Return a figure's environment: its file, and a caption with what its heading says, how verdicts were reached if
    it is of a contrast, and versions.
    """
    estimates = content.estimates_of(contrast) if contrast is not None else []
    behind = method(content, estimates) if estimates else f"{_intervals(content)} {versions(content)}"
    said = " ".join(line if line.endswith((".", "?", "!")) else f"{line}." for line in heading)
    return "\n".join(
        [
            r"\begin{figure}",
            r"  \centering",
            rf"  \includegraphics{{{file}}}",
            rf"  \caption{{{escaped(said)} {behind}}}",
            rf"  \label{{fig:{label}}}",
            r"\end{figure}",
            "",
        ]
    )


def figures_head() -> str:
    """Return the comment above all figures."""
    return f"{_NEEDS}\n% Each figure has its size: include it without scale, or its letters change theirs.\n"


def method(content: ReportContent, estimates: Sequence[Estimate]) -> str:
    """Return in sentences how the verdicts were reached: rounds, intervals, correction, margin, versions."""
    study, analysis = content.study, content.study.analysis
    rounds = sorted({item.n_pairs for item in ordered(study, estimates)})
    of = f"{rounds[0]}" if len(rounds) == 1 else f"{rounds[0]} to {rounds[-1]}"
    margin = wording.margin_of(estimates[0], analysis)
    correction = CORRECTIONS.get(analysis.correction, analysis.correction).partition(",")[0]
    sentences = [
        "+ means that the contender is better.",
        f"n = {of} rounds; intervals of {wording.percent(analysis.confidence)};",
        f"p adjusted for {len(estimates)} cells ({correction}), significant at {analysis.alpha:g};",
        f"equivalent within ±{margin}.",
    ]
    return f"{escaped(' '.join(sentences))} {versions(content)}"


def _intervals(content: ReportContent) -> str:
    """Return the number of rounds and the level of intervals, for figures that are of no one contrast."""
    rounds = int(content.samples["round"].max()) + 1 if len(content.samples) else 0
    return escaped(f"Up to {rounds} rounds; intervals of {wording.percent(content.study.analysis.confidence)}.")


def versions(content: ReportContent) -> str:
    """Return the programs of a run, the version of Longlook and the digest of the results, in sentences."""
    manifest = content.manifest
    named = ", ".join(name.replace("@", " ") for name in sorted(manifest["programs"]) if "@" in name)
    found = manifest.get("results")
    exact = f", results {found['digest'][:16]}" if found else ""
    return escaped(f"Programs: {named}. Longlook {manifest['host']['longlook']}{exact}.")
