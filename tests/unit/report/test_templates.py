"""What goes into pages: data in script elements, text that is shown and never obeyed, labels of cells."""

import math
import re

from markupsafe import Markup

from longlook.report.templates import _environment, embedded_json, template


def test_embedded_json_cannot_end_its_element_nor_hold_nan() -> None:
    assert embedded_json({"a": "</script><!--&", "b": [math.nan, math.inf, 1.5]}) == (
        '{"a":"\\u003c/script\\u003e\\u003c!--\\u0026","b":[null,null,1.5]}'
    )


def test_text_in_a_page_is_shown_and_never_obeyed() -> None:
    page = _environment().from_string("{{ text }}|{{ ours }}|{{ number }}")
    shown = page.render(text="<script>\x1b[31m\u202eexe", ours=Markup("<b>\u2060</b>"), number=3)
    assert shown == "&lt;script&gt;\\x1b[31m\\u202eexe|<b>\u2060</b>|3"
    assert embedded_json({"a\u202e": ["\x1b"]}) == r'{"a\\u202e":["\\x1b"]}'


def test_each_cell_of_an_expectation_is_labelled_as_its_column_for_narrow_pages() -> None:
    row = (False, "timeouts", "from 30s = 0", "quic-go", "nothing")
    context = {"section": {"anchor": "expectations"}, "counted": "0 of 1", "rows": [row, (True, *row[1:])]}
    text = template("expected/section.html.j2").render(**context, left_out=0)
    columns = re.findall(r'<th scope="col">(\w+)</th>', text)
    assert len(columns) == len(row)
    assert re.findall(r'data-label="(\w+)"', text) == columns * 2
