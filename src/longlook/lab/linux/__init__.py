"""The kernel's interfaces that a laboratory uses: every effect of `lab` on the machine goes through this package.

It turns namespaces, netlink, cgroups, sockets and mounts into small classes and functions that raise OSError or
MachineError. `lab`, `instruments.link` and `instruments.calibrate` use it. It is the one package that imports pyroute2,
apart from `instruments.calibrate.link.netem`.

Entry points: `isolation.run_isolated`, `namespace.Namespace`, `cpuquota.CpuQuota`, `compartment.enter`,
`limit_groups.own_controllers`, `sockets.SocketProbe`, `view.hidden_folders`, `tcp.apply`,
`offload.switch_off`, `system` (system calls).
"""
