"""What goes into a page's script elements."""

import math

from longlook.report.templates import embedded_json


def test_embedded_json_cannot_end_its_element_nor_hold_nan() -> None:
    assert embedded_json({"a": "</script><!--&", "b": [math.nan, math.inf, 1.5]}) == (
        '{"a":"\\u003c/script\\u003e\\u003c!--\\u0026","b":[null,null,1.5]}'
    )
