"""Run jobs by an engine; one line of JSON per result. A process of its own, so that tests can kill it."""

import json
import sys
from pathlib import Path

from longlook.core import codec
from longlook.core.errors import LonglookError
from longlook.core.job import Job
from longlook.engines.choice import make_engine

sys.path.insert(0, str(Path(__file__).parents[2]))  # a script: the checkout is not where Python looks for modules

from tests.support.undisturbed import run_undisturbed


def main() -> None:
    with make_engine(sys.argv[2] if len(sys.argv) > 2 else "live") as engine:
        for data in json.loads(Path(sys.argv[1]).read_text()):
            try:
                run = run_undisturbed(engine, codec.decode(Job, data))
            except LonglookError as error:
                answer = {"error": type(error).__name__, "message": error.message, "hint": error.hint}
            else:
                agent = getattr(engine, "agent", None)
                answer = {"run": codec.encode(run), "agent": agent.pid if agent else None}
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
