"""Provisions everything that trials need and that is made once: programs, the guest kernel, certificate and contents.

Names and versions go in; a `core.job.Program`, `Identity` or `Content` comes out, from the cache or made first. Stacks
and workloads use it to install and to prepare, `pipeline` before a run, `cli` for `longlook setup`.

Entry points: `setup.install`, `parallel.install_all`, `catalogue.catalogue`, `guest_kernel.kernel_program`,
`tls.identity`, `content.content`, and one module for each way of making a program: `go`, `rust`, `python`, `packaged`.
`video` makes the segments of a video of declared sizes, `video_encoding` segments with pictures, by the program of
`encoder`. `progress` passes on the steps of slow work.

Workloads also import `video` and `video_encoding`, stacks `debian` (libraries of Debian's packages), `build_cache`
(folders that are built once), `players` (of videos, from npm) and `decoder` (of H.264, for a browser without one).
`provenance` says what programs are made of, and `pins` which packages are pinned and which were taken instead.
`recorded` reads pages that other tools recorded.
"""
