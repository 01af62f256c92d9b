"""The laboratory: namespaces, link, programs, readiness, CPU accounting, guards. All effects and all clean-up.

Everything here lives in anonymous namespaces that the agent owns (docs/lab.md): when the agent dies, for whatever
reason, the kernel removes its processes, namespaces and devices. Modules import the standard library and pyroute2 only,
because the agent also runs inside a guest where starting is part of the cost.
"""
