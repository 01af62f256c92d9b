"""What goes into a page's script elements."""

import math

from markupsafe import Markup

from longlook.report.templates import _environment, embedded_json


def test_embedded_json_cannot_end_its_element_nor_hold_nan() -> None:
    assert embedded_json({"a": "</script><!--&", "b": [math.nan, math.inf, 1.5]}) == (
        '{"a":"\\u003c/script\\u003e\\u003c!--\\u0026","b":[null,null,1.5]}'
    )


def test_text_in_a_page_is_shown_and_never_obeyed() -> None:
    page = _environment().from_string("{{ text }}|{{ ours }}|{{ number }}")
    shown = page.render(text="<script>\x1b[31m\u202eexe", ours=Markup("<b>\u2060</b>"), number=3)
    assert shown == "&lt;script&gt;\\x1b[31m\\u202eexe|<b>\u2060</b>|3"
    assert embedded_json({"a\u202e": ["\x1b"]}) == r'{"a\\u202e":["\\x1b"]}'
