"""Figures as files hold any text that a user or a program wrote."""

import xml.etree.ElementTree as ET

import altair as alt

from longlook.report.charts.export import to_svg


def test_a_name_with_control_characters_and_markup_is_shown() -> None:
    name = "</text><script>\x1b[31m\u202ea.b[0]"
    row = {"name": name, "value": 1.0, "missing": float("nan")}
    chart = alt.Chart(alt.Data(values=[row])).mark_bar().encode(x="value:Q", y=alt.Y("name:N", title=name))
    root = ET.fromstring(to_svg(chart))
    texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    shown = "</text><script>\\x1b[31m\\u202ea.b[0]"
    assert shown in texts and shown.replace("\\", "\N{REVERSE SOLIDUS OPERATOR}") in texts
    assert not list(root.iter("{http://www.w3.org/2000/svg}script"))


def test_a_title_is_never_evaluated() -> None:
    title = 'a\\" + 1 + "b'
    chart = alt.Chart(alt.Data(values=[{"value": 1.0}])).mark_bar().encode(x=alt.X("value:Q", title=title))
    texts = [text.text for text in ET.fromstring(to_svg(chart)).iter("{http://www.w3.org/2000/svg}text")]
    assert 'a\N{REVERSE SOLIDUS OPERATOR}" + 1 + "b' in texts
