"""Explain what happened inside a trial: timelines and events → series, states and state machines. Pure.

`inside.look_inside` returns the series, marks and bands of one trial, `inside.look_into_flows` those of each competing
flow, `rounds.choose_round` the round of a cell that is shown, `states.time_in_states` the times in states over its
rounds, and `infer.MachineInference` infers state machines. `ledger.make_ledger` cuts the time of a load into classes,
from the arrays of `facts`. The report draws them; the pipeline and the command line call them.

Why an arm lost is found in steps, each pure; `longlook.pipeline.explain` runs the trials between them. `facts` are a
trial's arrays and `ledger` the classes of its time, both in one side of a `pair`. `cause` has the types of causes,
`detect` asks all of them, `counterfactual` plans the trials in which one thing is changed, `judge` concludes from their
values by `attribution`, `early_stopping` says when they suffice, and `answer` is what is written and shown. Where that
leaves much of a gap, `search` looks beyond what detectors know: `search.need` says when, `search.factors`,
`search.effects` and `search.screen` are about settings, `search.losses` and `search.minimal` about losses, and
`search.suspects` is what they end in. `ends` says which end both arms have alike, `touched` what a traced change shows
of causes, and `failing` what trials that failed share. `confounders` names what the arms have in common. Causes also
import `changes`, `signs`, `moments`, `credit`, `in_force`, `thresholds`, `remedies` and `versions`: what several of
them look for or change.

The pipeline and the report also import `sender` (series from a sender's events), `state_traces` (sequences of states),
`stalls` (why a video stood still) and `infer.machine` (an inferred machine).
"""
