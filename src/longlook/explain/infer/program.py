"""Run `longlook-trace infer`: the one module of this package with an effect."""

import json
import subprocess
from collections.abc import Sequence

import pyarrow as pa

from longlook.core.errors import InputError, LonglookError
from longlook.core.programs import trace_program
from longlook.explain.infer.machine import Machine, Relation


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
