"""A trial's raw artefacts → one table of rows on one clock, and a second one of events from traces of its endpoints.

`timeline.Timeline` and `events.Events` are the two tables, `doubts` says what is not counted of the second,
`normalise.trial.normalise_trial` and `trial_events.write_events` make them, `trial_events.full_timeline` joins both for
metrics. `competition.Competition` is the link's view of several flows, `state_times` and `envelope` derive states'
times and envelopes, and `export` writes other formats, with the `problems` of what was read. Metrics, analysis, explain
and report read these.

Later packages also import `playback` (what the viewer of a video saw), `echoing` (which sizes an echo answered),
`payload` (new bytes that left the link), `flow_tables` (tables of competing flows), `states` (the vocabulary of
states), `windows` (congestion windows over a load), `round_trips` (those that the link gave), `over_links` (rates
over two links), `loss_epochs` (losses within one), `reassembly` (data behind gaps), `first_byte` (the wait for it),
`cpu_time` (what programs computed), `cpu_profile` and `cpu_work` (on what, by samples), `collectors` (what recording
cost), `decode` (traces by the program `longlook-trace`), and of `normalise` the modules `packets`, `link_log`,
`rows`, `sender`, `trace_files`, `traces`, `states` and `competition`.
"""
