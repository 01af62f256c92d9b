"""Carry TCP on by HAProxy (adapters/CONTRACT.md); `version V` fails unless it is version V."""

import sys

from haproxy_adapter import proxy
from longlook_adapter.program import main

if __name__ == "__main__":
    if sys.argv[1:2] == ["version"]:
        proxy.PROGRAM.expect(sys.argv[2])
    else:
        sys.exit(main(sys.argv[1:], "haproxy", ("h2", "http/1.1", "http/1.0"), None, None, proxy.run))
