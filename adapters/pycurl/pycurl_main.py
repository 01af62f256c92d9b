"""Drive libcurl through pycurl: a client of HTTP/3 and HTTP/2 (adapters/CONTRACT.md).

It runs on the Python of an environment of its own, which holds pycurl with a libcurl inside (locks/).
"""

import sys

from longlook_adapter.either import EITHER
from longlook_adapter.program import main
from pycurl_adapter import client

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], "pycurl", ("h3", "h2", EITHER), None, client.run))
