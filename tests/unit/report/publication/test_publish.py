"""What a run's results need to be published: sizes, letters, captions, references, and nothing that breaks out."""

import re
from dataclasses import replace
from pathlib import Path
from statistics import median
from xml.etree import ElementTree

import pytest

from longlook.analysis import arm_levels
from longlook.core import InputError
from longlook.core.model import Contrast, Factor, Level
from longlook.report.charts.theme import specification
from longlook.report.content import ReportContent
from longlook.report.contrasts.heatmap import contrast_heatmap
from longlook.report.publication import latex
from longlook.report.publication.absolute import absolute_figure
from longlook.report.publication.bibliography import bibliography
from longlook.report.publication.fitted import fitted
from longlook.report.publication.style import KINDS, STYLES, chosen_style, parse_width, publication_request
from longlook.report.publication.write import publish
from tests.data.report import paper_content, small_content, small_study

TEN = [0.5, 0.51, 0.49, 0.5, 0.52, 0.48, 0.5, 0.51, 0.49, 0.5]
VALUES = {
    ("10Mbit",): {"tcp": TEN, "quic": [value * 0.8 for value in TEN]},
    ("50Mbit",): {"tcp": TEN, "quic": TEN},
}
RUN = {
    "programs": {"quic-go@0.65.0": "0" * 64, "link": "1" * 64},
    "host": {"longlook": "0.1.0"},
    "results": {"trials": 40, "digest": "ab" * 32},
}
PRINT = STYLES["print"]


@pytest.fixture(scope="module")
def paper() -> ReportContent:
    return replace(paper_content(), manifest=RUN)


@pytest.fixture
def small() -> ReportContent:
    return replace(small_content(VALUES), manifest=RUN)


def first_contrast(content: ReportContent) -> Contrast:
    return content.study.contrasts[0]


@pytest.mark.parametrize(
    ("text", "width_in"), [("3.33in", 3.33), ("85mm", 3.3465), ("8.5 cm", 3.3465), ("240.67pt", 3.33), ("72bp", 1.0)]
)
def test_widths_are_lengths_of_latex(text: str, width_in: float) -> None:
    assert parse_width(text) == pytest.approx(width_in, rel=1e-3)


@pytest.mark.parametrize("text", ["", "3.33", "wide", "3 parsec", "-3in", "0.5in", "400in", "3in; rm"])
def test_other_widths_are_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"not a width|too (narrow|wide)"):
        parse_width(text)


def test_a_style_is_print_unless_named_and_none_unless_asked_for() -> None:
    assert chosen_style(None, None, None, None, title=None) is None
    assert chosen_style(None, "85mm", None, 7.0, title=True) == replace(
        PRINT, width_in=pytest.approx(3.3465, rel=1e-3), font_pt=7.0, title=True
    )
    with pytest.raises(InputError, match="no style 'poster'"):
        chosen_style("poster", None, None, None, title=None)


def test_a_figure_has_the_width_and_its_letters_the_size_that_were_asked_for(small: ReportContent) -> None:
    chart = contrast_heatmap(small, first_contrast(small))
    for width_in, font_pt in ((3.33, 8.0), (4.0, 9.0)):
        found = fitted(chart, replace(PRINT, width_in=width_in, font_pt=font_pt))
        assert found.width_pt == pytest.approx(72 * width_in, abs=0.01)
        assert found.label_pt == pytest.approx(font_pt, rel=0.05)  # labels come and go with their size
        root = ElementTree.fromstring(found.svg)
        assert root.attrib["width"] == f"{found.width_pt:.3f}pt"
        drawn_px = float(root.attrib["viewBox"].split()[2])
        (box,) = re.findall(rb"/MediaBox \[0 0 ([\d.]+) [\d.]+\]", found.pdf)
        assert float(box) == pytest.approx(found.width_pt, abs=0.01)
        sizes = {float(each) for each in re.findall(r'font-size="([\d.]+)px"', found.svg.decode())}
        assert max(sizes) * found.width_pt / drawn_px < 2 * font_pt
        assert any(size * found.width_pt / drawn_px == pytest.approx(found.label_pt, rel=0.02) for size in sizes)


def test_a_figure_of_few_parts_stays_narrower_than_its_place(small: ReportContent) -> None:
    found = fitted(contrast_heatmap(small, first_contrast(small)), replace(PRINT, width_in=12.0))
    assert found.width_pt < 72 * 12
    assert found.label_pt == pytest.approx(8.0, rel=0.05)


def test_a_title_goes_to_the_caption_unless_it_is_wanted(small: ReportContent) -> None:
    chart = contrast_heatmap(small, first_contrast(small))
    without, titled = fitted(chart, PRINT), fitted(chart, replace(PRINT, title=True))
    assert without.heading[0] == "QUIC against TCP: page load time"
    assert "QUIC against TCP" not in without.svg.decode()
    assert titled.heading == ()
    assert "QUIC against TCP" in titled.svg.decode()


def test_a_dense_heatmap_leaves_the_unit_to_its_palette(paper: ReportContent) -> None:
    chart = contrast_heatmap(paper, first_contrast(paper))
    narrow, wide = (fitted(chart, replace(PRINT, width_in=width_in)).svg.decode() for width_in in (3.33, 9.0))
    numbers = r">[▲▼≈?] [+−][\d,.]+(\u00a0%)?<"
    assert set(re.findall(numbers, narrow)) == {""}
    assert set(re.findall(numbers, wide)) == {"\u00a0%"}
    assert "+50 %" in narrow


def levels(content: ReportContent) -> ReportContent:
    return replace(content, levels=arm_levels(content.samples, content.study, ["page_load_time"]))


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_drawn_for_every_arm_and_cell(small: ReportContent, tmp_path: Path, kind: str) -> None:
    found = publish(tmp_path / "publish", levels(small), PRINT, [kind])
    svg = (found.folder / "figures" / f"{kind}-page_load_time.svg").read_text()
    for words in ("TCP", "QUIC", "10Mbit", "50Mbit", "Page load time"):
        assert words in svg
    assert f"figures/{kind}-page_load_time.pdf" in (found.folder / "figures.tex").read_text()


def test_bars_are_medians_and_begin_at_zero(small: ReportContent) -> None:
    spec = specification(absolute_figure("bars", levels(small), "page_load_time"))
    (panel,) = spec["concat"]
    rows = spec["data"]["values"]
    assert {(row["arm"], row["column"]): pytest.approx(row["value"], rel=1e-6) for row in rows} == {
        ("TCP", "10Mbit"): median(TEN),
        ("QUIC", "10Mbit"): 0.8 * median(TEN),
        ("TCP", "50Mbit"): median(TEN),
        ("QUIC", "50Mbit"): median(TEN),
    }
    assert panel["layer"][0]["encoding"]["y"]["scale"]["domain"][0] == 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_figure_says_that_its_values_are_means_if_losses_are_integrated(small: ReportContent, kind: str) -> None:
    content = levels(small)
    means = replace(content, estimates=[replace(item, unseen_pct=0.1) for item in content.estimates])
    said = "the value of a round is a mean over all loads"
    assert [said in str(absolute_figure(kind, of, "page_load_time").title.subtitle) for of in (content, means)] == [
        False,
        True,
    ]


def test_a_metric_without_values_has_no_figure_which_is_said(tmp_path: Path) -> None:
    nothing = {("10Mbit",): {"tcp": [None] * 10, "quic": [None] * 10}}
    content = replace(small_content(nothing), manifest=RUN)
    found = publish(tmp_path / "publish", content, PRINT, KINDS)
    assert [remark.partition(":")[0] for remark in found.remarks if "no cell has a value" in remark] == KINDS


def test_a_kind_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match="no figure 'boxes'; did you mean 'box'"):
        publication_request(None, None, None, None, ["boxes"], None, title=None)


def test_a_font_that_is_missing_is_an_error(small: ReportContent, tmp_path: Path) -> None:
    (tmp_path / "publish").mkdir()
    (tmp_path / "publish" / "earlier").touch()
    with pytest.raises(InputError, match="this machine has no font 'No Such Family'"):
        publish(tmp_path / "publish", small, replace(PRINT, font="No Such Family"))
    assert (tmp_path / "publish" / "earlier").exists()


def test_everything_is_written_and_the_same_again(paper: ReportContent, tmp_path: Path) -> None:
    first, again = (publish(tmp_path / name, paper, PRINT) for name in ("first", "again"))
    assert first.files == again.files
    for file in first.files:
        assert (first.folder / file).read_bytes() == (again.folder / file).read_bytes(), file
    written = {str(path.relative_to(first.folder)) for path in first.folder.rglob("*.*")}
    assert written - {".longlook.json"} == set(first.files)
    captions = (first.folder / "figures.tex").read_text()
    for file in re.findall(r"includegraphics\{(.*?)\}", captions):
        assert (first.folder / file).is_file()
    assert any(remark.startswith("intervals-quic-vs-tcp: labels of") for remark in first.remarks)


def test_a_table_states_how_its_verdicts_were_reached(paper: ReportContent, tmp_path: Path) -> None:
    folder = publish(tmp_path / "publish", paper, PRINT).folder
    table = (folder / "tables" / "verdicts-quic-vs-tcp.tex").read_text()
    for said in (r"n = ", r"intervals of 95~\%", "(Holm)", r"equivalent within $\pm$3~\%", "quic-go 0.65.0", "abab"):
        assert said in table
    assert table.count(r" \\") == 1 + len(paper.estimates_of(first_contrast(paper)))
    assert "kakhki2017quic" in (folder / "references.bib").read_text()


@pytest.mark.parametrize(
    ("words", "written"),
    [
        (r"\input{/etc/passwd}", r"\textbackslash{}input\{/etc/passwd\}"),
        ("50% & $x$ #1 a_b ~ ^", r"50\% \& \$x\$ \#1 a\_b \textasciitilde{} \textasciicircum{}"),
        ("−3 ± 2\u00a0%", r"$-$3 $\pm$ 2~\%"),
        ("中", "U+4E2D"),
        ("Zoë, µs", r"Zoë, \textmu{}s"),
    ],
)
def test_no_text_becomes_a_command(words: str, written: str) -> None:
    assert latex.escaped(words) == written


def test_no_text_has_two_lines() -> None:
    assert latex.escaped("two\nlines\r\x1b").isprintable()


@pytest.mark.parametrize(
    ("words", "written"),
    [
        ("217\u00a0ms", r"\qty{217}{\milli\second}"),
        ("1,234\u00a0ms", r"\qty{1234}{\milli\second}"),
        ("−9.61\u00a0Mbit/s", r"\qty{-9.61}{\mega\bit\per\second}"),
        ("3\u00a0stalls", "3~stalls"),
        ("47 to 48", "47 to 48"),
        ("1,5\u00a0s", "1,5~s"),
        ("10,00\u00a0ms", "10,00~ms"),
        (",\u00a0s", ",~s"),
    ],
)
def test_quantities_are_those_of_siunitx(words: str, written: str) -> None:
    assert latex.quantity(words) == written


def test_labels_are_texts_and_begin_no_argument(tmp_path: Path) -> None:
    values = {("[3cm] 1,500 ms",): VALUES["10Mbit",], ("*",): VALUES["50Mbit",]}
    study = small_study(factors=(Factor("rate", tuple(Level(label, {}) for (label,) in values)),))
    folder = publish(tmp_path / "publish", replace(small_content(values, study), manifest=RUN), PRINT).folder
    (table,) = (folder / "tables").glob("verdicts-*.tex")
    lines = [line.strip() for line in table.read_text().splitlines() if line.endswith(r"\\")]
    assert len(lines) == 3
    assert all(line.startswith("{}") for line in lines)
    assert any(line.startswith("{}[3cm] 1,500 ms &") for line in lines)


def test_nothing_of_others_is_lost(small: ReportContent, tmp_path: Path) -> None:
    folder = tmp_path / "publish"
    publish(folder, small, PRINT)
    (folder / "paper.tex").write_text("mine")
    publish(folder, small, replace(PRINT, width_in=4.0), ["cdf"])
    publish(folder, small, PRINT)
    assert (folder / "paper.tex").read_text() == "mine"
    assert not (folder / "figures" / "cdf-page_load_time.pdf").exists()
    with (folder / "figures.tex").open("a") as file:
        file.write("% a better caption")
    before = {path: path.read_bytes() for path in folder.rglob("*.*")}
    with pytest.raises(InputError, match=r"figures\.tex was edited, and would be replaced"):
        publish(folder, small, PRINT, ["cdf"])
    assert {path: path.read_bytes() for path in folder.rglob("*.*")} == before


def test_a_file_of_somebody_else_is_not_replaced(small: ReportContent, tmp_path: Path) -> None:
    (tmp_path / "publish").mkdir()
    (tmp_path / "publish" / "references.bib").write_text("mine")
    with pytest.raises(InputError, match="was not written by longlook"):
        publish(tmp_path / "publish", small, PRINT)
    assert [path.name for path in (tmp_path / "publish").iterdir()] == ["references.bib"]


def test_a_metric_needs_a_figure() -> None:
    with pytest.raises(InputError, match="is the metric of --figure"):
        publication_request(None, None, None, None, [], "throughput", title=None)


def test_hostile_labels_stay_in_their_cells(tmp_path: Path) -> None:
    study = small_study(title=r"\write18{rm -rf /} % $\end{table}$")
    folder = publish(tmp_path / "publish", replace(small_content(VALUES, study), manifest=RUN), PRINT).folder
    for file in folder.rglob("*.tex"):
        text = file.read_text()
        assert r"\write18" not in text
        assert text.count(r"\end{table}") <= 1


def test_sources_have_references_or_are_named() -> None:
    found = bibliography(
        [
            "Kakhki et al., Taking a Long Look at QUIC, IMC 2017, fig. 6a (CACM 2019, fig. 5a)",
            "RFC 9332, section 1",
            "draft-ietf-moq-transport",
            "our own question",
            "IMC 2017, fig. 6b",
        ],
        "0.1.0",
        None,
    )
    keys = re.findall(r"^@\w+\{([^,]+),$", found.text, re.MULTILINE)
    assert keys == ["longlook", "kakhki2017quic", "kakhki2019quic", "rfc9332", "draft-ietf-moq-transport"]
    assert found.unknown == ("our own question",)
    assert found.text.count("{") == found.text.count("}")
