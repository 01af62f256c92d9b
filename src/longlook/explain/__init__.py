"""Explain what happened inside a trial: timelines and events → series, states and state machines. Pure.

`inside.look_inside` returns the series, marks and bands of one trial, `inside.look_into_flows` the same of each
competing flow, `rounds.choose_round` the round of a cell that is shown, `states.time_in_states` the times in states
over its rounds, and `infer.MachineInference` infers state machines. `ledger.make_ledger` cuts the time of a load into
classes, from the arrays of `facts`. The report draws them; the pipeline and the command line call them.

The reason why an arm lost is found in steps, each pure; `longlook.pipeline.explain` runs the trials between them.
`facts` are a trial's arrays and `ledger` the classes of its time, both in one side of a `pair`. `cause` has the types
of causes, `detect` asks all of them and says which end both arms have alike, and `counterfactual` plans the trials in
which one thing is changed. `judge` concludes from their values by `attribution`, which also says when they suffice, and
from the signs that a change leaves. `answer` is the result that is written and shown. If much of a gap remains,
`search` looks beyond the knowledge of detectors: `search.factors`, `search.screening_design` and `search.screen` are
about settings, `search.losses` is about losses, and `search.suspects` has their results. `failing` says what failed
trials share. Causes also import `changes`, `signs` and `effective_settings`, which several of them share.

The pipeline and the report also import `inside.series`, `inside.playback` (a video and its stalls), `states` (also as
sequences) and `infer.machine` (an inferred machine).
"""
