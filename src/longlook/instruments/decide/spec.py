"""The question whether to turn HTTP/3 on, as studies without a file: pages, a server with and without h3, users."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longlook.analysis import BLOCKED, Network, Users, as_fast_as_links, networks_for, read_users
from longlook.core import ConnectionState, InputError, Knob, Problems, Scalar, Stack, Study, registry
from longlook.provision import parse_program
from longlook.study import SAMPLED, read_users_file, study_of_document

H2, H3 = "h2", "h3"
H3_RESUMED, H3_0RTT, H2_RESUMED, H2_WINDOW, H2_BBR = "h3-resumed", "h3-0rtt", "h2-resumed", "h2-window-32", "h2-bbr"
PAGE_LOAD_TIME, FIRST_BYTE, LARGEST_PAINT = "page_load_time", "time_to_first_byte", "largest_contentful_paint"
QUIC_SHARE, FALLBACK_TIME = "quic_share", "fallback_time"
NETWORK, UDP, PAGE = "network", "udp", "page"
OPEN, CLOSED = "open", "blocked"
EITHER = "h3-or-h2"
FALLBACK_S = 0.25
"""How long a client waits for QUIC before it tries TCP (RFC 8305), if the measured one has no fallback of its own."""
TIMEOUT = "60s"
_RULES_OF_UDP = ("network.udp_rate", "network.udp_cutoff")
"""Settings by which a network limits UDP without blocking it."""
_SERVERS = ("nginx", "caddy", "envoy", "haproxy", "apache")
_TRIED: Mapping[str, tuple[Scalar, ...]] = {
    "congestion_control": ("cubic", "reno", "bbr", "bbr2"),
    "initial_window": (32,),
    "stream_send_buffer": (1 << 20,),
    "pacing": (True, False),
    "hystart": (True, False),
    "gso": (True, False),
    "retry": (True,),
}
"""Knobs of servers that are tried, and their values; the value that a server has by itself is left out if known."""


@dataclass(frozen=True)
class DecideSpec:
    """A decision. `pages` are recorded pages by label; `networks` the cells that stand for the users."""

    pages: Mapping[str, str]
    server: str  # stack and version
    client: str
    users: Users
    networks: tuple[Network, ...]
    rounds: int = 10
    seed: int = 1

    @property
    def has_blocked(self) -> bool:
        """Whether each network is tried with UDP blocked, too."""
        return bool(self.users.blocked_share) or (not self.users.labels and _some_blocked(self.users))

    @property
    def stack(self) -> Stack:
        """The server's stack."""
        return parse_program(self.server)[0]

    @property
    def falls_back(self) -> bool:
        """Whether server and client speak both protocols on one port, and the client chooses."""
        return self.stack.either and parse_program(self.client)[0].either

    @property
    def paints(self) -> bool:
        """Whether the client shows pages."""
        return parse_program(self.client)[0].paints

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics of a load."""
        shown = (LARGEST_PAINT, "first_contentful_paint") if self.paints else ()
        return (PAGE_LOAD_TIME, FIRST_BYTE, *shown, QUIC_SHARE, FALLBACK_TIME)


def make_spec(
    pages: list[str], server: str, client: str, users_file: Path, *, cells: int, rounds: int, seed: int
) -> DecideSpec:
    """Return the decision; InputError if a server has no HTTP/3, a page is no recording, or there are no users."""
    stack, version = parse_program(server)
    if "server" not in stack.roles:
        raise InputError(f"--server {server}: {stack.name} is no server", f"servers: {', '.join(_SERVERS)}")
    if not stack.speaks(version, "h3"):
        newer = [each.name for each in stack.versions if stack.speaks(each.name, "h3")]
        able = (
            f"{stack.name}@{newer[-1]} has it"
            if newer
            else f"no version of {stack.name} has it; others do: "
            + ", ".join(
                name for name in _SERVERS if registry.stack(name).speaks(registry.stack(name).versions[-1].name, "h3")
            )
        )
        raise InputError(f"--server {server}: {stack.name} {version} has no HTTP/3 that could be turned on", able)
    client_stack, client_version = parse_program(client)
    if "client" not in client_stack.roles:
        raise InputError(f"--client {client}: {client_stack.name} is no client", "clients: quic-go, pycurl, chromium")
    users = as_fast_as_links(read_users(users_file))
    networks = _declared(users_file, users) if users.labels else tuple(networks_for(users, cells))
    named = {_label(page): page for page in pages}
    if len(named) < len(pages):
        raise InputError("two pages have the same name", "give the recordings different names of files")
    unknown = [name for name in users.shares if name not in (PAGE, UDP)]
    if unknown:
        raise InputError(
            f"{users_file.name}: factors.{unknown[0]}: decide has the factors network and page alone",
            "put it into the networks, or run a study of your own and ask longlook population",
        )
    return DecideSpec(
        named, f"{stack.name}@{version}", f"{client_stack.name}@{client_version}", users, networks, rounds, seed
    )


def main_study(spec: DecideSpec) -> Study:
    """Return the study of HTTP/3 against HTTP/2 for all users."""
    return _study("decide", spec, main_document(spec))


def main_document(spec: DecideSpec) -> dict[str, Any]:
    """Return the document of that study."""
    h3: dict[str, Any] = {"label": "HTTP/3", "protocol": EITHER if spec.falls_back else "h3"}
    if spec.paints:
        h3 |= {"server_knobs": {"alt_svc_port": 443}, "client_knobs": {"memory": "alt-svc"}}
    return {
        **_common(spec),
        "title": f"HTTP/3 of {spec.server} for {spec.users.title}",
        "question": "Do users get these pages sooner if HTTP/3 is turned on?",
        "metrics": list(spec.metrics),
        "contrasts": [{"name": "h3 vs h2", "baseline": H2, "contender": H3, "metric": PAGE_LOAD_TIME}],
        "arms": {H2: {"label": "HTTP/2", "protocol": "h2"}, H3: h3},
        "factors": _factors(spec, with_blocked=True),
        "exclude": _impossible(spec),
    }


def settings_study(spec: DecideSpec) -> Study | None:
    """Return the study of what settings are worth to users whose UDP passes; None if there is nothing to set."""
    arms, contrasts = _settings(spec)
    if not contrasts or not any(True for _ in _open_networks(spec)):
        return None
    document = {
        **_common(spec),
        "title": f"Settings of {spec.server} for {spec.users.title}",
        "question": "What is each setting of the server worth?",
        "metrics": [PAGE_LOAD_TIME],
        "contrasts": contrasts,
        "arms": arms,
        "factors": _factors(spec, with_blocked=False),
    }
    return _study("decide-settings", spec, document)


def cpu_document(spec: DecideSpec) -> dict[str, Any]:
    """Return the study, in real time, of the server's CPU seconds for a gigabyte."""
    return {
        "schema": 1,
        "title": f"What a byte costs {spec.server}",
        "question": "How many CPU seconds does the server need for a gigabyte over HTTP/3 and over HTTP/2?",
        "rounds": 10,
        "timeout": TIMEOUT,
        "metrics": ["server_cpu_per_gb"],
        "contrasts": [["h2", "h3"]],
        "defaults": {"server": spec.server, "client": "quic-go", "connection": "cold", "engine": "live"},
        "workload": {"kind": "download", "object": "50MB"},
        "network": {"rtt": "20ms", "queue": "1bdp"},
        "factors": [{"name": "rate", "sets": "network.rate", "levels": ["100Mbit"]}],
        "arms": {
            "h2": {"label": "HTTP/2", "protocol": "h2", "tcp": "stock"},
            "h3": {"label": "HTTP/3", "protocol": "h3"},
        },
    }


def _study(name: str, spec: DecideSpec, document: Mapping[str, Any]) -> Study:
    return study_of_document(name, document, Problems(f"longlook decide ({spec.users.title})"))


def _common(spec: DecideSpec) -> dict[str, Any]:
    return {
        "schema": 1,
        "source": spec.users.source,
        "rounds": spec.rounds,
        "seed": spec.seed,
        "timeout": TIMEOUT,
        "losses": SAMPLED,
        "defaults": {"server": spec.server, "client": spec.client, "connection": "cold", "congestion_control": "cubic"},
        "workload": {"kind": "recorded_page"},
        "network": {},
        "analysis": {"min_rounds": min(spec.rounds, 10)},
    }


def _factors(spec: DecideSpec, *, with_blocked: bool) -> list[dict[str, Any]]:
    networks = spec.networks if with_blocked else tuple(_open_networks(spec))
    factors: list[dict[str, Any]] = [
        {"name": NETWORK, "levels": [{"label": label, **settings} for label, settings in networks]},
        {
            "name": PAGE,
            "sets": "workload.har",
            "levels": [{"label": label, "workload.har": har} for label, har in spec.pages.items()],
        },
    ]
    factors[1].pop("sets")
    if with_blocked and spec.has_blocked:
        levels = [{"label": OPEN, "network.block": "off"}, {"label": CLOSED, "network.block": "udp"}]
        factors.append({"name": UDP, "levels": levels})
    return factors


def _impossible(spec: DecideSpec) -> list[dict[str, list[str]]]:
    """Return the cells that cannot be: UDP that is blocked cannot be limited, too."""
    limited = [label for label, settings in spec.networks if any(key in settings for key in _RULES_OF_UDP)]
    return [{NETWORK: limited, UDP: [CLOSED]}] if limited and spec.has_blocked else []


def _open_networks(spec: DecideSpec) -> Iterator[Network]:
    for label, settings in spec.networks:
        if settings.get("network.block", "off") not in ("udp", "any"):
            yield label, settings


def _settings(spec: DecideSpec) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the arms of the server's settings, and their contrasts, each against the server as it is."""
    stack, version = parse_program(spec.server)
    protocol = EITHER if spec.falls_back else "h3"
    arms: dict[str, Any] = {
        H2: {"label": "HTTP/2", "protocol": "h2"},
        H3: {"label": "HTTP/3", "protocol": protocol},
        H2_WINDOW: {"label": "HTTP/2, TCP’s initial window of 32 packets", "protocol": "h2", "tcp_initial_window": 32},
        H2_BBR: {"label": "HTTP/2, BBR in the kernel", "protocol": "h2", "congestion_control": "bbr"},
    }
    pairs = [(H2, H2_WINDOW), (H2, H2_BBR)]
    allowed = stack.connections_of(version, "h3")
    client, client_version = parse_program(spec.client)
    if (
        not spec.paints
        and ConnectionState.ZERO_RTT in allowed
        and ConnectionState.RESUMED in allowed
        and ConnectionState.ZERO_RTT in client.connections_of(client_version, "h3")
    ):
        arms[H2_RESUMED] = {"label": "HTTP/2, resumed", "protocol": "h2", "connection": "resumed"}
        arms[H3_RESUMED] = {"label": "HTTP/3, resumed", "protocol": "h3", "connection": "resumed"}
        arms[H3_0RTT] = {"label": "HTTP/3, 0-RTT", "protocol": "h3", "connection": "0rtt"}
        pairs += [(H3_RESUMED, H3_0RTT), (H2_RESUMED, H3_0RTT)]
    for name, knob in stack.knobs_of(version, "server").items():
        for value in _values(name, knob):
            arm = f"{name.replace('_', '-')}-{str(value).lower()}"
            arms[arm] = {"label": f"HTTP/3, {name} = {value}", "protocol": protocol, "server_knobs": {name: value}}
            pairs.append((H3, arm))
    if spec.paints:  # a browser must know that there is HTTP/3
        for arm in arms.values():
            if arm["protocol"] == EITHER:
                arm["server_knobs"] = {**arm.get("server_knobs", {}), "alt_svc_port": 443}
                arm["client_knobs"] = {"memory": "alt-svc"}
    contrasts = [
        {
            "name": f"{other} vs {one}",
            "baseline": one,
            "contender": other,
            "metric": PAGE_LOAD_TIME,
            "family": "settings",
        }
        for one, other in pairs
    ]
    return arms, contrasts


def _values(name: str, knob: Knob) -> Iterator[Scalar]:
    if not knob.applies_to("h3"):
        return
    for value in _TRIED.get(name, ()):
        own = knob.default if knob.usual is None else knob.usual
        if value != own and (not knob.choices or value in knob.choices):
            yield value


def _declared(path: Path, users: Users) -> tuple[Network, ...]:
    file = read_users_file(path)
    if users.blocked_share is not None and (
        known := [each.label for each in file.networks if each.settings.get("network.block", "off") != "off"]
    ):
        raise InputError(
            f"{path.name}: networks.{known[0]} sets block, and everyone.blocked is given", "leave one of them out"
        )
    return tuple((each.label, dict(each.settings)) for each in file.networks)


def _some_blocked(users: Users) -> bool:
    return BLOCKED in users.quantities and bool(users.quantities[BLOCKED].any())


def _label(page: str) -> str:
    name = Path(page).name
    for ending in (".gz", ".har"):
        name = name.removesuffix(ending)
    return name or page
