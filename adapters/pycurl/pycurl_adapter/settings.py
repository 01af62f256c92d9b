"""A job's demands as options of libcurl's handles."""

import pycurl
from longlook_adapter.either import EITHER
from longlook_adapter.errors import UnsupportedError
from longlook_adapter.job import COLD, EARLY, Job

_FEATURES = 4
_HTTP3 = 1 << 25
"""CURL_VERSION_HTTP3, in the features of `curl_version_info`."""

_VERSIONS = {
    "h3": pycurl.CURL_HTTP_VERSION_3ONLY,
    "h2": pycurl.CURL_HTTP_VERSION_2TLS,
    EITHER: pycurl.CURL_HTTP_VERSION_3,  # TCP, too, after its `happy eyeballs` timeout; the first that connects
}


def check_supported(job: Job) -> None:
    """Raise UnsupportedError where this libcurl cannot do the job."""
    if job.protocol != "h2" and not pycurl.version_info()[_FEATURES] & _HTTP3:
        raise UnsupportedError(f"protocol {job.protocol!r}: {pycurl.version.split()[1]} is built without it")
    if job.protocol == EITHER and job.connection != COLD:
        raise UnsupportedError(f"connection {job.connection!r} with {EITHER}: each of its connections is cold")
    if job.connection == EARLY:
        check_early_data(job)
    if job.connections != 1:
        raise UnsupportedError(f"connections {job.connections}: this client opens one")
    if job.knobs:
        raise UnsupportedError(f"unknown knob {min(job.knobs)!r}: this client has none")


def check_early_data(job: Job) -> None:
    """Raise UnsupportedError where requests cannot be early data."""
    if job.protocol != "h3":
        raise UnsupportedError("connection '0rtt' needs protocol h3: early data over TCP is not measured")


def new_handle(job: Job, path: str, tickets: pycurl.CurlShare, *, early: bool) -> pycurl.Curl:
    """Return the handle of one request. Settings of the environment and the system are not used."""
    handle = pycurl.Curl()
    address = f"[{job.address}]" if ":" in job.address else job.address
    handle.setopt(pycurl.URL, job.site + path)
    handle.setopt(pycurl.PATH_AS_IS, 1)
    handle.setopt(pycurl.RESOLVE, [f"{job.host}:{job.port}:{address}"])
    handle.setopt(pycurl.PROXY, "")
    handle.setopt(pycurl.CAINFO, job.ca)
    handle.setopt(pycurl.SSLVERSION, pycurl.SSLVERSION_TLSv1_3 | pycurl.SSLVERSION_MAX_TLSv1_3)
    handle.setopt(pycurl.HTTP_VERSION, _VERSIONS[job.protocol])
    handle.setopt(pycurl.PIPEWAIT, 1)  # for the one connection, instead of opening more
    handle.setopt(pycurl.NOSIGNAL, 1)
    handle.setopt(pycurl.SHARE, tickets)
    if (priority := job.priorities.get(path)) is not None:
        handle.setopt(pycurl.HTTPHEADER, [f"priority: {priority}"])
    if early:
        handle.setopt(pycurl.SSL_OPTIONS, pycurl.SSLOPT_EARLYDATA)
    return handle
