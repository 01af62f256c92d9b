"""The types that every stage shares, and what is needed to store, find and print them. Standard library only.

Everything may import this package; it imports nothing of ours. Modules that others start from:

- `model`: studies, plans, trials and runs as frozen dataclasses; `results`: estimates and judged claims;
  `dependence.Dependence`: how an effect depends on a setting that rounds draw; `codec` turns them into JSON and back.
- `stack`, `workload` and `metric`: the types of plug-ins, which `registry` finds; `job.Job`: the order to run a trial.
- `run_folder.RunFolder`: what a run keeps on disk; `seals` and `attempts`: whether that is as it was;
  `content_store.ContentStore`: folders cached by content; `kept_files`: single files cached by content. `files` opens
  all of them, and every other file that somebody else may have made; `lock.Lock`: one writer of a folder. `packed`:
  files that a user names, unpacked; `mistaken`: the command that reads a path which is no run folder; `stack_files`:
  the files of sampled call stacks and their names of functions.
- `errors`: failures that a user can act on; `problems.Problems`: all that is wrong with one file; `trust`: whether
  programs may run without confinement.
- `document.read_toml`: a TOML file within limits; `escape.visible`: text of others, which steers no terminal.
- `units`, `versions`, `flows`, `paths`, `digests`, `programs`: quantities, names of versions, competing flows, places,
  digests and our binaries.
- `echoes`: the sizes that an echo tries; `cpus`: the processors that this process may use, and the processors of
  virtual time;
- `links`: names, files and keys of a path's links; `protocol`: the protocols that trials speak; `provenance`: where
  programs come from;
  `knobs`: the contract's knobs, for stacks to share.
"""
