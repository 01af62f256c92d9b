"""The part that adapters in Python share, so that each has only its library's own code. Standard library only.

`program.main` is an adapter's main function, `fetching.run_job` a client's job over any library's connections,
`supervise.supervise` a server that is somebody else's program, `sessions.run_session` a client that stays warm;
`lines`, `job`, `options`, `knobs`, `files` and `errors` are the pieces of adapters/CONTRACT.md.
"""
