"""From a plan to a run folder: engines run trials, or the cache has them; repeats prove that they are exact.

Jobs for engines go out, and finished trials come back as folders. `pipeline`, `cli` and instruments use this
package:

- `execute.Executor` runs what is missing in a run folder; `execute.Provisions` holds what trials need.
- `trial_cache.TrialCache` keeps finished trials by everything that determines them.
- `verify.Verifier` runs trials again and compares them; `verification.Verification` is the outcome.
- `diff.compare` finds the first difference between two trials or runs; `host_facts.host_facts` describes the machine.

`cli` also imports `link_diff`, for the first packet in which two link logs differ.
"""
