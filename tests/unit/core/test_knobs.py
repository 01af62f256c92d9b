"""The knobs that several stacks have are those of the contract, in all stacks."""

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.core import knobs, registry
from longlook.core.knobs import with_default
from longlook.core.paths import adapters_dir
from longlook.core.stack import Knob

SHARED: dict[str, Knob] = {name.lower(): value for name, value in vars(knobs).items() if isinstance(value, Knob)}


def test_the_contract_has_every_shared_knob() -> None:
    lines = (adapters_dir() / "CONTRACT.md").read_text().splitlines()
    named = {
        name for line in lines if line.startswith("| `") for name in line.split("|")[1].replace("`", "").split(", ")
    }
    assert {name.strip() for name in named} >= set(SHARED)


@pytest.mark.parametrize("name", SHARED)
def test_a_shared_knob_has_the_same_type_in_every_stack(name: str) -> None:
    declared = {stack: plugin.knobs[name] for stack, plugin in registry.load("stacks").items() if name in plugin.knobs}
    assert declared
    for stack, knob in declared.items():
        assert (knob.kind, knob.unit) == (SHARED[name].kind, SHARED[name].unit), stack


def test_a_stacks_default_ends_the_help(snapshot: SnapshotAssertion) -> None:
    own = with_default(knobs.INITIAL_WINDOW, "stack: 10", maximum=100)
    assert own.help == snapshot
    assert (own.minimum, own.maximum) == (1, 100)
    assert with_default(knobs.PACING, "stack: on", help="paced").help == "paced (stack: on)"
