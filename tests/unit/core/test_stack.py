"""What a stack declares must fit together."""

from dataclasses import replace

import pytest

from longlook.core import registry
from longlook.core.errors import InputError
from longlook.core.job import Identity
from longlook.core.model import ConnectionState
from longlook.core.stack import ClientJob, Knob, Stack, Version
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


@pytest.mark.parametrize("name", ["mine@1", "", "../up", "a b", "-x", "kernel", "all", "é"])
def test_a_name_that_cannot_be_one_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"name .* cannot be one"):
        replace(STACK, name=name)
    with pytest.raises(InputError, match=r"version .* cannot be one"):
        replace(STACK, knobs={}, versions=(Version(name, ""),))


def test_a_stack_has_a_version() -> None:
    with pytest.raises(InputError, match="has no version"):
        replace(STACK, knobs={}, versions=())


def test_a_derived_stack_has_what_its_version_has() -> None:
    made = STACK.derived("mine", Version("0.20.1-mine.2", "2026-11-23"), of="0.20.1", install=STACK.install)
    assert made.version_names == ("0.20.1-mine.2",)
    for role in STACK.roles:
        assert made.knobs_of("0.20.1-mine.2", role).keys() == STACK.knobs_of("0.20.1", role).keys()
    assert "retry" in made.knobs and "gso" not in made.knobs
    old = STACK.derived("old", Version("mine", ""), of="0.15.7")
    assert old.connections_of("mine") == STACK.connections_of("0.15.7") != STACK.connections
    with pytest.raises(InputError, match=r"quic-go has no version '0\.1'"):
        STACK.derived("mine", Version("mine", ""), of="0.1")


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


def test_early_data_is_a_state_over_the_protocols_that_a_stack_declares_for_it() -> None:
    version = STACK.default_version
    assert ConnectionState.ZERO_RTT in STACK.connections_of(version)
    assert ConnectionState.ZERO_RTT in STACK.connections_of(version, "h3")
    assert STACK.connections_of(version, "h2") == (ConnectionState.COLD, ConnectionState.RESUMED)
    over_tcp = replace(STACK, early_data_protocols=("h3", "h2"))
    assert over_tcp.connections_of(version, "h2") == STACK.connections_of(version)
