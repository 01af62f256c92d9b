"""A trial's raw artefacts → one table of rows on one clock, and a second one of events from traces of its endpoints.

`timeline.Timeline` and `events.Events` are the two tables. `normalise.trial` makes them (`normalise_trial`,
`write_events`) and joins both for metrics (`full_timeline`). `doubts` says which values of the second are not counted.
`export` writes other formats, with the `problems` of the traces that it read. Metrics, analysis, explain and report
read these.

Later packages also import `competition` (several flows over one link, and their tables), `playback` (a video as its
viewer saw it), and `payload` (new bytes that left the link). About senders there are `states` (the vocabulary of
states, and the time in each), `windows` (congestion windows over a load), `round_trips` (as the link gave them),
`over_links` (rates over two links), and `loss_epochs` (losses within one round trip). Further modules are `envelope`
(regions of throughput and delay), `reassembly` (data behind gaps), and `cpu_work` (CPU time by kind of work, from
samples). `collectors` has the cost of recording, `decode` reads traces by the program `longlook-trace`. They also
import of `normalise` the modules `packets`, `link_log`, `rows`, `sender`, `trace_files`, `traces`, `states` and
`competition`.
"""
