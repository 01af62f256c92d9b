"""Draw what the stages before computed; compute nothing.

A run's report is one HTML page that opens from disk, with every figure and table of it as files in the same folder. The
same inputs give the same bytes. `write_report` writes the report of a run from its `ReportContent`, `write_inside` the
page about one cell, `write_explanation` the page of a run's explanations, `write_claims_page` the page over several
runs. `wording` and `text` are for terminals too.
"""

from typing import TYPE_CHECKING

from longlook.core import lazy

if TYPE_CHECKING:
    from longlook.report import text as text
    from longlook.report import wording as wording
    from longlook.report.causes.page import write_explanation as write_explanation
    from longlook.report.causes.searched import loss_lines as loss_lines
    from longlook.report.causes.searched import losses_sentence as losses_sentence
    from longlook.report.causes.searched import screening_sentence as screening_sentence
    from longlook.report.causes.searched import seen as seen
    from longlook.report.causes.section import anchor as anchor
    from longlook.report.causes.text import answers_markdown as answers_markdown
    from longlook.report.causes.text import details as details
    from longlook.report.causes.text import in_rounds as in_rounds
    from longlook.report.causes.text import judged_text as judged_text
    from longlook.report.causes.text import line as line
    from longlook.report.causes.text import sentence as sentence
    from longlook.report.causes.text import share_text as share_text
    from longlook.report.charts import colours as colours
    from longlook.report.charts.card import for_both_schemes as for_both_schemes
    from longlook.report.charts.card import share_card as share_card
    from longlook.report.charts.colours import BASELINE as BASELINE
    from longlook.report.charts.colours import CONTENDER as CONTENDER
    from longlook.report.charts.colours import INK as INK
    from longlook.report.charts.colours import INK_SOFT as INK_SOFT
    from longlook.report.charts.colours import RESULT_COLOURS as RESULT_COLOURS
    from longlook.report.charts.colours import RULE as RULE
    from longlook.report.charts.colours import gradient as gradient
    from longlook.report.charts.export import ENDINGS as ENDINGS
    from longlook.report.charts.export import export_figure as export_figure
    from longlook.report.charts.export import picture as picture
    from longlook.report.charts.theme import PAGE_FONT as PAGE_FONT
    from longlook.report.charts.theme import page_specification as page_specification
    from longlook.report.charts.theme import specification as specification
    from longlook.report.charts.theme import unit_axis as unit_axis
    from longlook.report.content import ReportContent as ReportContent
    from longlook.report.content import metric_facts as metric_facts
    from longlook.report.content import short_labels as short_labels
    from longlook.report.contrasts.heatmap import contrast_heading as contrast_heading
    from longlook.report.contrasts.heatmap import contrast_heatmap as contrast_heatmap
    from longlook.report.contrasts.heatmap import effect_labels as effect_labels
    from longlook.report.contrasts.overview import SIGNED as SIGNED
    from longlook.report.contrasts.section import contrast_anchors as contrast_anchors
    from longlook.report.contrasts.squares import STATE_NOTES as STATE_NOTES
    from longlook.report.contrasts.squares import Square as Square
    from longlook.report.contrasts.squares import claims_of as claims_of
    from longlook.report.contrasts.squares import measured_squares as measured_squares
    from longlook.report.contrasts.squares import published_squares as published_squares
    from longlook.report.csv_tables import write_csv as write_csv
    from longlook.report.curves import FactorAxis as FactorAxis
    from longlook.report.curves import cdf_chart as cdf_chart
    from longlook.report.curves import curve_colours as curve_colours
    from longlook.report.curves import lines_chart as lines_chart
    from longlook.report.expected.junit import expectations_junit as expectations_junit
    from longlook.report.expected.text import expectation_lines as expectation_lines
    from longlook.report.expected.text import expectations_counted as expectations_counted
    from longlook.report.expected.text import expectations_markdown as expectations_markdown
    from longlook.report.flows.colours import flow_colours as flow_colours
    from longlook.report.hypotheses import hypotheses_counted as hypotheses_counted
    from longlook.report.inside import inside_pages as inside_pages
    from longlook.report.inside import write_inside as write_inside
    from longlook.report.inside.content import DrawnMachine as DrawnMachine
    from longlook.report.inside.content import InsideContent as InsideContent
    from longlook.report.layout import CellKey as CellKey
    from longlook.report.layout import Grid as Grid
    from longlook.report.layout import cell_label as cell_label
    from longlook.report.layout import make_grid as make_grid
    from longlook.report.layout import ordered as ordered
    from longlook.report.lost_arms import failures as failures
    from longlook.report.machines.diff_drawing import draw_diff as draw_diff
    from longlook.report.machines.drawing import draw as draw
    from longlook.report.machines.wording import counted as counted
    from longlook.report.machines.wording import p_value as p_value
    from longlook.report.machines.wording import percent as percent
    from longlook.report.machines.wording import spoken as spoken
    from longlook.report.page import write_report as write_report
    from longlook.report.provenance import repeats as repeats
    from longlook.report.publication.bibliography import AUTHORS as AUTHORS
    from longlook.report.publication.bibliography import bibliography as bibliography
    from longlook.report.publication.style import PublicationRequest as PublicationRequest
    from longlook.report.publication.style import publication_request as publication_request
    from longlook.report.publication.write import Publication as Publication
    from longlook.report.publication.write import publish as publish
    from longlook.report.section import slug as slug
    from longlook.report.templates import asset as asset
    from longlook.report.templates import embedded_json as embedded_json
    from longlook.report.templates import template as template
    from longlook.report.templates import vega as vega
    from longlook.report.text import claims_in_short as claims_in_short
    from longlook.report.text import claims_markdown as claims_markdown
    from longlook.report.text import escaped as escaped
    from longlook.report.text import markdown_rows as markdown_rows
    from longlook.report.text import markdown_table as markdown_table
    from longlook.report.wording import CLIFF as CLIFF
    from longlook.report.wording import published as published
    from longlook.report.wording import statement as statement
else:
    __all__, __getattr__ = lazy(
        __name__,
        {
            "causes.page": "write_explanation",
            "causes.searched": "loss_lines losses_sentence screening_sentence seen",
            "causes.section": "anchor",
            "causes.text": "answers_markdown details in_rounds judged_text line sentence share_text",
            "charts.card": "for_both_schemes share_card",
            "charts.colours": "BASELINE CONTENDER INK INK_SOFT RESULT_COLOURS RULE gradient",
            "charts.export": "ENDINGS export_figure picture",
            "charts.theme": "PAGE_FONT page_specification specification unit_axis",
            "content": "ReportContent metric_facts short_labels",
            "contrasts.heatmap": "contrast_heading contrast_heatmap effect_labels",
            "contrasts.overview": "SIGNED",
            "contrasts.section": "contrast_anchors",
            "contrasts.squares": "STATE_NOTES Square claims_of measured_squares published_squares",
            "csv_tables": "write_csv",
            "curves": "FactorAxis cdf_chart curve_colours lines_chart",
            "expected.junit": "expectations_junit",
            "expected.text": "expectation_lines expectations_counted expectations_markdown",
            "flows.colours": "flow_colours",
            "hypotheses": "hypotheses_counted",
            "inside": "inside_pages write_inside",
            "inside.content": "DrawnMachine InsideContent",
            "layout": "CellKey Grid cell_label make_grid ordered",
            "lost_arms": "failures",
            "machines.diff_drawing": "draw_diff",
            "machines.drawing": "draw",
            "machines.wording": "counted p_value percent spoken",
            "page": "write_report",
            "publication.bibliography": "AUTHORS bibliography",
            "publication.style": "PublicationRequest publication_request",
            "publication.write": "Publication publish",
            "section": "slug",
            "templates": "asset embedded_json template vega",
            "text": "claims_in_short claims_markdown escaped markdown_rows markdown_table",
            "wording": "CLIFF published statement",
        },
        "charts.colours provenance.repeats text wording",
    )
