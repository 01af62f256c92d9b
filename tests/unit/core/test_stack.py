"""What a stack declares must fit together."""

from dataclasses import replace

import pytest

from longlook.core import registry
from longlook.core.errors import InputError
from longlook.core.job import Identity
from longlook.core.model import ConnectionState
from longlook.core.stack import ClientJob, Knob, Stack
from longlook.stacks.quic_go import STACK


@pytest.mark.parametrize("bound", ["since", "until"])
def test_a_knob_of_a_version_that_is_not_declared_is_refused(bound: str) -> None:
    knob = replace(Knob(int, None, None, "a knob"), **{bound: "99.0"})
    with pytest.raises(InputError, match=f"quic-go, knob window: {bound} is '99.0'") as caught:
        replace(STACK, knobs={"window": knob})
    assert "0.65.0" in (caught.value.hint or "")


def test_a_knob_that_needs_one_that_the_stack_does_not_have_is_refused() -> None:
    knob = Knob(int, None, None, "a knob", only_with={"controller": ("reno",)})
    with pytest.raises(InputError, match="quic-go, knob window: only_with names 'controller', no knob of it"):
        replace(STACK, knobs={"window": knob})


@pytest.mark.parametrize("stack", registry.load("stacks").values(), ids=lambda stack: stack.name)
def test_what_a_program_does_unset_is_a_value_that_its_knob_takes(stack: Stack) -> None:
    for name, knob in stack.knobs.items():
        if knob.usual is not None:
            assert isinstance(knob.usual, knob.kind), name
            assert not knob.choices or knob.usual in knob.choices, name
            assert knob.default is None, name  # or two values would say the same


def test_a_job_mentions_waits_and_several_connections_only_where_there_are_any() -> None:
    identity = Identity("host", "ca", "certificate", "key", "spki")
    job = ClientJob("h3", ConnectionState.COLD, "10.8.0.2", 443, (("/a",),), identity, {}, 1.0)
    assert {"waits_s", "connections"}.isdisjoint(job.data())
    asked = replace(job, connections=2, waits_s=(0.5,)).data()
    assert (asked["connections"], asked["waits_s"]) == (2, [0.5])
