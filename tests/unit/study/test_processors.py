"""Processors of endpoints: what people may write, and what it means."""

from dataclasses import astuple
from fractions import Fraction

import pytest

from longlook.core.cpus import times
from longlook.core.model import Processor
from longlook.core.problems import SettingError
from longlook.study import processors
from longlook.study.processors import processor_setting

KEY = "client_processor"


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("off", "off"),
        ("datagram 20us,call 2000ns", "call 2us, datagram 20us"),
        ("packet 0.5us, kilobyte 4us", "packet 500ns, kilobyte 4us"),
        ("3 * call 1us, packet 2us", "call 3us, packet 6us"),
        ("call 0s", "off"),
        ("server-core", "server-core"),
        ("10.50*server-core", "10.5 * server-core"),
        ("1 * server-core", "server-core"),
        ("moto-g", "moto-g"),
        ("0.5 * nexus6", "0.5 * nexus6"),
    ],
)
def test_two_spellings_of_one_processor_are_one(written: str, canonical: str) -> None:
    assert processor_setting(KEY, written) == canonical
    assert processor_setting(KEY, canonical) == canonical


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        (5, "must be a text"),
        ("fast", "allowed: call"),
        ("call", "call: "),
        ("call 2", "call: "),
        ("call 2us, call 3us", "call is given twice"),
        ("2 * off", "no costs to multiply"),
        ("many * server-core", "'many' is no number"),
        ("1/0 * server-core", "is no number"),
        ("-1 * server-core", "must be above 0"),
        ("0 * server-core", "must be above 0"),
        ("call 2s", "at most 1s"),
        ("1e9 * server-core", "at most 1s"),
        ("1e8 * moto-g", "at most 1s"),
        ("moto-x", "moto-g, nexus6, off; did you mean 'moto-g'"),
        ("", "allowed: call"),
    ],
)
def test_what_is_no_processor_is_refused_with_what_may_be_written(written: object, problem: str) -> None:
    with pytest.raises(SettingError, match=problem.replace("*", r"\*")):
        processor_setting(KEY, written)


def client(written: str, program: str = "quic-go@0.65.0+knobs", *, over_tcp: bool = True) -> Processor | None:
    texts = {"client": processor_setting(KEY, written)}
    return processors.processors(texts, {"client": program}, over_tcp=over_tcp).get("client")


def test_costs_are_in_the_kernels_units() -> None:
    written = "call 2us, wake 9us, datagram 20us, packet 5us, kilobyte 4us"
    assert client(written) == Processor(2000, 9000, 20_000, 5000, 4000)
    assert client(f"2 * {written}") == Processor(4000, 18_000, 40_000, 10_000, 8000)
    assert client("off") is None
    assert times(Processor(call_ns=3, byte_ps=5), Fraction(1, 2)) == Processor(call_ns=2, byte_ps=2)


def test_a_processor_by_name_has_the_costs_of_the_machine_and_of_the_program() -> None:
    machine = processors.PROCESSORS["server-core"]
    found = {name: client("10 * server-core", f"{name}@1") for name in processors.PROGRAMS}
    assert {cost.call_ns for cost in found.values() if cost} == {10 * machine.call_ns}
    for name, program in processors.PROGRAMS.items():
        cost = found[name]
        assert cost is not None
        assert (cost.datagram_ns, cost.byte_ps) == (10 * program.datagram_ns, 10 * program.byte_ps)
        assert sum(astuple(cost)) == 10 * (sum(astuple(machine)) + sum(astuple(program)))


def test_a_phone_is_a_multiple_of_a_server_core_for_each_program() -> None:
    for name, multiple in processors.PHONES.items():
        for program in processors.PROGRAMS:
            assert client(name, program) == client(f"{multiple} * server-core", program)
            assert client(f"0.5 * {name}", program) == client(f"{multiple / 2} * server-core", program)


def test_a_program_that_nobody_has_measured_needs_costs_that_are_written() -> None:
    with pytest.raises(
        SettingError,
        match=r"knows the costs of quic-go, quinn, .*apache, and not of pycurl; write off, a name, or costs",
    ):
        client("server-core", "pycurl")
    with pytest.raises(SettingError, match="and not of several programs"):
        processors.processors({"client": "server-core"}, {}, over_tcp=True)
    assert client("call 1us", "pycurl") == Processor(call_ns=1000)


def test_a_program_that_was_measured_over_tcp_has_no_costs_over_quic() -> None:
    with pytest.raises(SettingError, match="server-core knows the costs of nginx over TCP alone; write off, a name"):
        client("server-core", "nginx@1.30.6", over_tcp=False)
    assert client("call 1us", "nginx@1.30.6", over_tcp=False) == Processor(call_ns=1000)


def test_endpoints_whose_work_is_free_have_no_processor() -> None:
    found = processors.processors({"client": "call 1us", "server": "off"}, {"client": "quic-go"}, over_tcp=False)
    assert found == {"client": Processor(call_ns=1000)}
