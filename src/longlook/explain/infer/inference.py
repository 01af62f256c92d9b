"""Inference in the manner of scikit-learn: parameters in the constructor, `fit`, and attributes that end in `_`."""

import json
import subprocess
from collections.abc import Sequence
from typing import Self

import pyarrow as pa

from longlook.core import InputError, LonglookError, trace_program
from longlook.explain.infer import check
from longlook.explain.infer.machine import Invariant, Machine, Relation
from longlook.explain.infer.traces import Traces, as_table


def infer(table: pa.Table, relations: Sequence[Relation]) -> Machine:
    """Return the machine of the traces in a table (`traces.SCHEMA`) that keeps the invariants of some relations.

    Raise InputError if the table does not hold traces.
    """
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    command = [trace_program().path, "infer", "-", "--relations", *relations]
    done = subprocess.run(command, input=memoryview(sink.getvalue()), capture_output=True, check=False)
    if done.returncode == 0:
        return Machine.from_json(done.stdout)
    lines = [line for line in done.stdout.decode(errors="replace").splitlines() if line.startswith("{")]
    answer = json.loads(lines[-1]) if lines else {"reason": done.stderr.decode(errors="replace").strip(), "hint": None}
    kind = InputError if done.returncode == InputError.exit_code else LonglookError
    raise kind(answer["reason"] or f"longlook-trace ended with status {done.returncode}", answer["hint"])


class MachineInference:
    """Infer the smallest state machine that keeps every temporal invariant of a set of traces.

    `relations` names the relations whose invariants are mined and kept: all three by default; with none, each name is
    one state. `check` proves each machine by code that shares nothing with the program that inferred it
    (`longlook.explain.infer.check`), and raises LonglookError if the proof fails. After `fit`, `machine_` is the
    machine and `invariants_` are the mined invariants, all of which it keeps.
    """

    machine_: Machine
    invariants_: tuple[Invariant, ...]

    def __init__(self, *, relations: Sequence[str] = tuple(Relation), check: bool = True) -> None:
        self.relations = relations
        self.check = check

    def fit(self, traces: Traces) -> Self:
        """Infer from traces: sequences of (name, time in ns), or a table. Raise InputError for anything else."""
        table = as_table(traces)
        machine = infer(table, [Relation(name) for name in self.relations])
        if self.check and (flaws := check.flaws(machine, table)):
            raise LonglookError(
                f"{len(flaws)} flaws in the inferred machine, the first: {flaws[0]}",
                "this is an error of Longlook: report it with the traces",
            )
        self.machine_, self.invariants_ = machine, machine.invariants
        return self
