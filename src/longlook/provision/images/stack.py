"""How the program of an image is started by the interop runner's contract. Standard library only."""

from collections.abc import Mapping
from pathlib import Path

from longlook.core import Command, OwnRoot, Program, ServerJob
from longlook.provision.images.record import ROOT, read_record

TEST_CASES: Mapping[str, str] = {"h3": "http3"}
"""Protocol → the test case of the contract that asks for it."""

_NOTHING = "#!/bin/sh\n:\n"
_NAMES = ("server", "server4", "server6", "sim")
_HOME = "/tmp"  # noqa: S108 (of its own root)


def image_server(program: Program, job: ServerJob) -> Command:
    """Return how the program of an image is started as a server, in a root of its own.

    The laboratory does the work of the contract's network simulator, so its two scripts do nothing.
    """
    file = Path(program.path)
    image = read_record(file)
    identity = job.identity
    hosts = "".join(f"{job.address} {name}\n" for name in (*_NAMES, identity.host))
    root = OwnRoot(
        folder=str(file.with_name(ROOT)),
        begins_in=image.folder.removeprefix("/"),
        shown={
            "www": job.www,
            "certs/cert.pem": identity.certificate,
            "certs/priv.key": identity.key,
            "certs/ca.pem": identity.ca,
        },
        texts={
            "etc/hosts": f"127.0.0.1 localhost\n{hosts}",
            "setup.sh": _NOTHING,
            "wait-for-it.sh": _NOTHING,
        },
        writable=(*image.writable, "logs", "downloads", "tmp"),
    )
    own = {"ROLE": "server", "TESTCASE": TEST_CASES[job.protocol]}
    return Command(image.argv, {**image.env, "HOME": _HOME, "TMPDIR": _HOME, **own}, root)
