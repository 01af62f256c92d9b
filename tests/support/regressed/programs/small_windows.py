"""quic-go's client with small windows: PROGRAM JOB, as adapters/CONTRACT.md has it."""

import json
import os
import sys
import tempfile
from pathlib import Path

program, job_file = sys.argv[1:]
job = json.loads(Path(job_file).read_text())
job["knobs"] = {"initial_stream_window": 20_000, "max_stream_window": 20_000}
changed = Path(tempfile.mkdtemp()) / "job.json"
changed.write_text(json.dumps(job))
os.execv(program, [program, "client", str(changed)])
