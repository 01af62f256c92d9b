"""Run jobs by the live engine; one line of JSON per result. A process of its own, so that tests can kill it."""

import json
import sys
from pathlib import Path

from longlook import codec
from longlook.engines.live import LiveEngine
from longlook.errors import LonglookError
from longlook.job import Job


def main() -> None:
    with LiveEngine() as engine:
        for data in json.loads(Path(sys.argv[1]).read_text()):
            try:
                run = engine.run(codec.decode(Job, data))
            except LonglookError as error:
                answer = {"error": type(error).__name__, "message": error.message, "hint": error.hint}
            else:
                agent = engine.agent.pid if engine.agent else None
                answer = {"run": codec.encode(run), "agent": agent}
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
