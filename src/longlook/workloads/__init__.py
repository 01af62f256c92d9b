"""Workloads: one file for each kind of load, each defining WORKLOAD (a `core.workload.WorkloadKind`).

A kind declares its parameters and makes the content that servers serve from their values. The registry finds the files
of this folder and of LONGLOOK_PLUGINS; `study` checks parameters with them and `pipeline` prepares contents.

Entry points: none to import; use `core.registry.get("workloads", name)`.
"""
