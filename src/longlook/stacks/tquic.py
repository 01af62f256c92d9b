"""tquic: HTTP/3 of Tencent's library under an event loop of our own (adapters/tquic)."""

from longlook.core.job import Program
from longlook.core.model import ConnectionState
from longlook.core.stack import Command, Knob, ServerJob, Stack, Version, server_arguments
from longlook.provision.rust import cargo_build, is_cargo_built

_NAME = "tquic"
_CMAKE = ("cmake", "sudo apt-get install cmake g++ (for BoringSSL, which the crate brings along)")
_VERSIONS = (Version("1.6.0", "2025-02-25"),)
_LARGEST_WINDOW = 2**62 - 1
_ENVIRONMENT = {"OPENSSL_ia32cap": "~0x4000000000000000"}
"""BoringSSL mixes the processor's RDRAND into its random numbers, which no seed repeats: hide it."""


def _window(help_text: str) -> Knob:
    return Knob(int, "bytes", None, help_text, minimum=1, maximum=_LARGEST_WINDOW)


_KNOBS = {
    "congestion_control": Knob(
        str, None, None, "congestion control (stack: bbr)", choices=("cubic", "bbr", "bbr3", "copa")
    ),
    "initial_window": Knob(
        int, "packets", None, "congestion window at the start (stack: 10)", minimum=1, maximum=10_000
    ),
    "pacing": Knob(bool, None, None, "packets are spread over the round trip, ten at once (stack: on)"),
    "initial_stream_window": _window("stream window offered at first (stack: 5 MiB for answers, 2 MiB for requests)"),
    "initial_connection_window": _window("connection window offered at first (stack: 10 MiB)"),
    "max_stream_window": _window("largest stream window that auto-tuning may reach (stack: 6 MiB)"),
    "max_incoming_streams": Knob(
        int, "streams", None, "requests at once per connection (stack: 200)", ("server",), minimum=1, maximum=2**20
    ),
    "max_udp_payload": Knob(
        int, "bytes", None, "largest UDP payload: where discovery ends, or with disable_pmtud all (stack: 1472)",
        minimum=1201, maximum=1472,
    ),
    "disable_pmtud": Knob(bool, None, None, "no path MTU discovery (stack: on, from 1200)"),
    "ack_threshold": Knob(
        int, "packets", None, "ack-eliciting packets that bring an ACK at once (stack: 2)", minimum=1, maximum=1000
    ),
    "max_ack_delay": Knob(
        float, "seconds", None, "the longest that an ACK may wait, as the peer is told (stack: 0.025)",
        minimum=0.001, maximum=16,
    ),
    "initial_rtt": Knob(
        float, "seconds", None, "round-trip time assumed before the first is measured (stack: 0.333)",
        minimum=0.001, maximum=10,
    ),
    "allow_0rtt": Knob(bool, None, True, "accept early data", roles=("server",)),
    "retry": Knob(bool, None, None, "answer a first packet with a Retry (stack: off)", roles=("server",)),
}  # fmt: skip


def install(version: str) -> Program:
    """Build the adapter with one version of tquic, BoringSSL and all, or take it from the cache."""
    return cargo_build(_NAME, STACK.version(version).name, needs=_CMAKE)


def installed(version: str) -> bool:
    """Whether `install` has nothing to do."""
    return is_cargo_built(_NAME, version)


def server_command(program: Program, job: ServerJob) -> Command:
    """The program as a server."""
    return Command((program.path, *server_arguments(job)), _ENVIRONMENT)


def client_command(program: Program, job_file: str) -> Command:
    """The program as a client."""
    return Command((program.path, "client", job_file), _ENVIRONMENT)


STACK = Stack(
    name=_NAME,
    summary="tquic (Tencent): HTTP/3",
    roles=("server", "client"),
    protocols=("h3",),
    connections=(ConnectionState.COLD, ConnectionState.RESUMED, ConnectionState.ZERO_RTT),
    versions=_VERSIONS,
    knobs=_KNOBS,
    log_formats=("qlog",),
    install=install,
    server_command=server_command,
    client_command=client_command,
    installed=installed,
    several_connections=True,
)
