"""Runs in a machine that has all controllers in version 2: what its kernel does for groups, as one line of JSON."""

import json
import os
import select
import subprocess

from longlook.lab.linux.limit_groups import LimitGroup, controllers
from longlook.lab.linux.users import FIRST_USER

TASKS_OF_GROUP, MEMORY_OF_GROUP = 20, 64 << 20
FORKS = "for each in $(seq 40); do sleep 1 & done; wait"
FILLS = "exec dd if=/dev/zero of=/tmp/file bs=1M count=200"


def run(group: LimitGroup, script: str) -> dict[str, object]:
    command, pairs = group.command(["/bin/sh", "-c", script])

    def enter() -> None:
        for ours, theirs in pairs:
            os.dup2(ours, theirs)
        os.setresgid(FIRST_USER, FIRST_USER, FIRST_USER)
        os.setresuid(FIRST_USER, FIRST_USER, FIRST_USER)

    theirs = [theirs for _, theirs in pairs]
    alarm = group.alarm()
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=enter, pass_fds=theirs, check=False)
    news = select.poll()
    if alarm is not None:
        news.register(alarm, select.POLLPRI)
    return {"code": done.returncode, "out": done.stdout, "broken": group.broken(), "alarm": bool(news.poll(0))}


def main() -> None:
    found = controllers()
    answers: dict[str, object] = {"version": found.version, "bounds": sorted(found.folders)}
    for name, script in (("honest", "cat /proc/self/cgroup"), ("forks", FORKS), ("fills", FILLS)):
        group = found.make(name, TASKS_OF_GROUP, MEMORY_OF_GROUP)
        if group is None:
            raise SystemExit("no group can be made")
        answers[name] = run(group, script)
        group.close()
    names = {path.name for folder in found.folders.values() for path in folder.iterdir()}
    answers["left"] = sorted(names & answers.keys())
    print(f"probe: {json.dumps(answers)}", flush=True)


if __name__ == "__main__":
    main()
