"""quic-go's client that gives up in half of its trials: PROGRAM JOB, as adapters/CONTRACT.md has it."""

import json
import os
import sys

program, job_file = sys.argv[1:]
if os.urandom(1)[0] % 2:  # drawn from the trial's seed in a guest
    sys.stdout.write(json.dumps({"event": "error", "reason": "made to give up"}) + "\n")
    sys.exit(1)
os.execv(program, [program, "client", job_file])
