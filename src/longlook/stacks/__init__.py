"""The stacks that ship with Longlook: one file each, found by `core.registry`, so that no list is edited for a new one.

Each file defines `STACK`, a `core.stack.Stack`: what its versions can do, `install`, which turns a version into a
program, and the commands that turn a job into a call of it. Get one by `registry.get("stacks", NAME)`. The agent in a
guest reads these files too, so they import nothing heavy; adapters/example shows how one is written.
"""
