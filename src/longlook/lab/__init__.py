"""The laboratory: it runs one trial, from an empty network to a sealed folder.

A `core.job.Job` goes in; a `core.model.Run` and the trial's folder (packet log, programs' lines, `run.json`) come out.
Everything lives in anonymous namespaces that the agent owns (docs/explanation/lab.md): when the agent ends, for
whatever reason, the kernel removes its processes, namespaces and devices. The engines start the two ways in, `agent` on
this host and `guest` as process 1 of a guest; `longlook link` and `longlook calibrate` use the network alone.

All effects on the machine go through `lab.linux`. Pure modules, which import nothing of it, decide what a trial is
worth: `judge` (the outcome, from `observations`), `guard` (was the measurement disturbed), `environment`.
Modules import the standard library and pyroute2 only, because starting the agent is part of the cost of each guest.

Entry points: `laboratory.Laboratory`, `agent.main`, `guest.main`, `guest.run_as_init`, `capability.check`,
`stale_state.clear_stale_state`, `topology.EndpointNamespace`, `router.launch`, `artefacts.seal`.

`instruments.calibrate` also imports `link_options` (how the router is started) and `timing` (whose time it is), and
the engines `host_paths` (the paths that programs need), `limits`, and of `linux` the modules `folders`,
`limit_groups` and `proctable`.
`longlook link` shares `linux.nat` with `remote_client_routes`, the client's side where the client is another machine.

`analysis` also imports `judge_knobs` and `judge_settings` (what trials measure of knobs and settings), `engines` also
`artefacts`, `testbed` and `topology` (names of files, and addresses).
"""
