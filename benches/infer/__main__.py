"""One measurement in a process of its own: `python -m benches.infer longlook 100000` prints a line of JSON."""

import json
import sys

from benches.infer import bench_infer

WAYS = {"longlook": bench_infer.longlook, "aalpy_alergia": bench_infer.aalpy_alergia}

print(json.dumps(WAYS[sys.argv[1]](int(sys.argv[2]))))
