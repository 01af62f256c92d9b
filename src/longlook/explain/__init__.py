"""Explain what happened inside a trial: timelines and events → series, states and state machines. Pure.

`inside.look_inside` returns the series, marks and bands of one trial, `inside.look_into_flows` those of each competing
flow, `rounds.choose_round` the round of a cell that is shown, `states.time_in_states` the times in states over its
rounds, and `infer.MachineInference` infers state machines. `ledger.make_ledger` cuts the time of a load into classes,
from the arrays of `facts`. The report draws them; the pipeline and the command line call them.

The pipeline and the report also import `sender` (series from a sender's events), `state_traces` (sequences of states)
and `infer.machine` (an inferred machine).
"""
