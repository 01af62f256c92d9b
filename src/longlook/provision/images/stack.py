"""How the program of an image is started by the interop runner's contract. Standard library only."""

from collections.abc import Mapping
from pathlib import Path

from longlook.core import HQ, ClientJob, Command, ConnectionState, Identity, InputError, OwnRoot, Program, ServerJob
from longlook.provision.images.record import ROOT, ImageRecord, read_record

TEST_CASES: Mapping[tuple[str, ConnectionState], str] = {
    ("h3", ConnectionState.COLD): "http3",
    (HQ.name, ConnectionState.COLD): "transfer",
    (HQ.name, ConnectionState.RESUMED): "resumption",
    (HQ.name, ConnectionState.ZERO_RTT): "zerortt",
}
"""Protocol and state of the connection → the test case of the contract that asks for it."""

NAMES = ("server", "server4", "server6", "server46")
"""The names of the contract's server, which are in the certificate of its trials, too."""
_HOST = "server4"  # of requests, as in the contract's own
_PRIME = "/prime"  # the first file of the two last, over a connection of its own (`Content.root`)
_NOTHING = "#!/bin/sh\n:\n"
_HOME = "/tmp"  # noqa: S108 (of its own root)


def image_server(program: Program, job: ServerJob) -> Command:
    """Return how the program of an image is started as a server, in a root of its own."""
    image = read_record(Path(program.path))
    root = _root(program, image, job.identity, job.address, {"www": job.www})
    return _command(image, root, {"ROLE": "server", "TESTCASE": TEST_CASES[job.protocol, job.connection]})


def image_client(program: Program, job: ClientJob) -> Command:
    """Return how the program of an image is started as a client, in a root of its own.

    InputError for a job that the contract cannot express: it names files that are all asked for at once.
    """
    image = read_record(Path(program.path))
    if len(job.phases) != 1 or job.waits_s or job.connections > 1 or job.video or job.echo is not None:
        raise InputError(
            "an image asks for all files at once over one connection, and this load has an order",
            'use workload = { kind = "download", … } without at_once, idle, warm and connections',
        )
    paths = (*([] if job.connection is ConnectionState.COLD else [_PRIME]), *job.phases[0])
    root = _root(program, image, job.identity, job.address, {})
    requests = " ".join(f"https://{_HOST}:{job.port}{path}" for path in paths)
    test_case = TEST_CASES[job.protocol, job.connection]
    return _command(image, root, {"ROLE": "client", "TESTCASE": test_case, "REQUESTS": requests})


def _root(program: Program, image: ImageRecord, identity: Identity, address: str, shown: Mapping[str, str]) -> OwnRoot:
    """Return the root of an image's program; the server is at an address.

    The laboratory does the work of the contract's network simulator, so its two scripts do nothing.
    """
    hosts = "".join(f"{address} {name}\n" for name in (*NAMES, "sim", identity.host))
    return OwnRoot(
        folder=str(Path(program.path).with_name(ROOT)),
        begins_in=image.folder.removeprefix("/"),
        shown={
            **shown,
            "certs/cert.pem": identity.certificate,
            "certs/priv.key": identity.key,
            "certs/ca.pem": identity.ca,
        },
        texts={
            "etc/hosts": f"127.0.0.1 localhost\n{hosts}",
            "setup.sh": _NOTHING,
            "wait-for-it.sh": _NOTHING,
        },
        writable=(*image.writable, "logs", "tmp"),
        results="downloads",
    )


def _command(image: ImageRecord, root: OwnRoot, own: Mapping[str, str]) -> Command:
    return Command(image.argv, {**image.env, "HOME": _HOME, "TMPDIR": _HOME, **own}, root)
