"""What a stack declares must fit together."""

from dataclasses import replace

import pytest

from longlook.core.errors import InputError
from longlook.core.stack import Knob
from longlook.stacks.quic_go import STACK


@pytest.mark.parametrize("bound", ["since", "until"])
def test_a_knob_of_a_version_that_is_not_declared_is_refused(bound: str) -> None:
    knob = replace(Knob(int, None, None, "a knob"), **{bound: "99.0"})
    with pytest.raises(InputError, match=f"quic-go, knob window: {bound} is '99.0'") as caught:
        replace(STACK, knobs={"window": knob})
    assert "0.65.0" in (caught.value.hint or "")
