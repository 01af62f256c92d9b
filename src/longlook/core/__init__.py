"""The types that every stage shares, and what is needed to store, find and print them. Standard library only.

Everything may import this package; it imports nothing of ours. Modules that others start from:

- `model`: studies, plans, trials and runs as frozen dataclasses; `results`: estimates and judged claims;
  `dependence.Dependence`: how an effect depends on a setting that rounds draw; `codec` turns them into JSON and back.
- `stack`, `workload` and `metric`: the types of plug-ins, which `registry` finds; `job.Job`: the order to run a trial.
- `run_folder.RunFolder`: what a run keeps on disk; `seals` and `attempts`: whether that is as it was;
  `content_store.ContentStore`: caches by content; `kept_files`: single files by theirs;
  `files`: how all of them, and whatever else others may have made, are opened; `lock.Lock`: one writer of a folder;
  `packed`: files that a user names, as they are when unpacked; `mistaken`: which command reads what is no run folder;
  `stack_files`: where sampled call stacks are, and how they name functions.
- `errors`: failures that a user can act on; `problems.Problems`: all that is wrong with one file; `trust`: whether
  programs may run where nothing confines them.
- `document.read_toml`: a TOML file within limits; `escape.visible`: text of others, which steers no terminal.
- `units`, `versions`, `flows`, `paths`, `digests`, `programs`: quantities, names of versions, competing flows, places,
  digests and our binaries.
- `echoes`: the sizes that an echo tries; `cpus`: the processors that this process may use, and those of virtual time;
- `links`: names, files and keys of a path's links; `protocol`: the protocols that trials speak; `provenance`: where
  programs come from;
  `knobs`: the contract's knobs, for stacks to share.
"""
