"""A world of our own beyond a machine of our own: two network namespaces, with servers, names and an authority.

    home 192.0.2.2 ──veth── 192.0.2.1 world: 203.0.113.10, … with Caddy, and a DNS server at 203.0.113.53

`longlook` runs at home, whose default route leads into the world. Nothing leaves the machine.
"""

import datetime
import ipaddress
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from longlook.core import paths, registry
from longlook.lab.linux import system
from longlook.lab.linux.namespace import Namespace

LONGLOOK = str(Path(sys.executable).parent / "longlook")
HOST = "www.example.org"
RESOLVER = "203.0.113.53"
WWW, OTHER, DEAD = "203.0.113.10", "203.0.113.11", "203.0.113.99"
WWW_6, RESOLVER_6 = "2001:db8:113::10", "2001:db8:113::53"
_WITHIN_S = 60.0
_POLL_S = 0.05

Zone = dict[str, dict[str, list[str]]]


class Authority:
    """A certificate authority of our own; its file is what `--ca` takes."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._key = folder, ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "World Authority")])
        self.file = folder / "authority.pem"
        constraints = x509.BasicConstraints(ca=True, path_length=None)
        made = self._builder(self._name, self._key).add_extension(constraints, critical=True)
        self._certificate = made.sign(self._key, hashes.SHA256())
        self.file.write_bytes(self._certificate.public_bytes(serialization.Encoding.PEM))

    def issue(self, *hosts: str, name: str = "leaf") -> tuple[Path, Path]:
        """Return the files of a new certificate for hosts, and of its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, hosts[0])])
        names = x509.SubjectAlternativeName([x509.DNSName(host) for host in hosts])
        made = self._builder(subject, key).add_extension(names, critical=False).sign(self._key, hashes.SHA256())
        certificate, secret = self._folder / f"{name}.pem", self._folder / f"{name}.key"
        certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
        form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        secret.write_bytes(key.private_bytes(*form))
        return certificate, secret

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        today = datetime.datetime.now(datetime.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(today - datetime.timedelta(days=1))
            .not_valid_after(today + datetime.timedelta(days=30))
        )


class World:
    """The namespaces, and how to start things in them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.cache = folder, folder / "cache"
        self.cache.mkdir()
        for entry in paths.cache_dir().iterdir():
            if entry.name not in ("state", "trials"):
                (self.cache / entry.name).symlink_to(entry)
        self.zone_file = folder / "zone.json"
        self.authority = Authority(folder)
        self._undo = ExitStack()
        self.home, self.outside = Namespace(), Namespace()
        self._undo.callback(self.outside.close)
        self._undo.callback(self.home.close)
        self._join()

    def close(self) -> None:
        """End everything."""
        self._undo.close()

    def name(self, zone: Zone) -> None:
        """Let the DNS server answer from a zone: name → kind of record → values."""
        draft = self.zone_file.with_suffix(".new")
        draft.write_text(json.dumps(zone))
        draft.replace(self.zone_file)

    def start_dns(self) -> None:
        """Start the DNS server."""
        server = self.start(
            [sys.executable, "-m", "tests.support.dns_server", str(self.zone_file), RESOLVER, RESOLVER_6], self.outside
        )
        self._undo.callback(_end, server)
        _await(lambda: self._listens("udp", 53), "DNS")

    @contextmanager
    def caddy(self, text: str, *, name: str = "caddy") -> Iterator["subprocess.Popen[bytes]"]:
        """Run Caddy in the world with the sites of a Caddyfile, each with its own `bind`."""
        file = self.folder / f"{name}.Caddyfile"
        file.write_text(text)
        server = self.start([caddy_program(), "run", "--config", str(file), "--adapter", "caddyfile"], self.outside)
        try:
            _await(lambda: self._listens("tcp", 443) or server.poll() is not None, "Caddy")
            assert server.poll() is None, (self.folder / "output").read_text()[-2000:]
            yield server
        finally:
            _end(server)

    def start(self, argv: Sequence[str], where: Namespace) -> "subprocess.Popen[bytes]":
        """Start a program in a namespace; its output goes to a file."""
        with (self.folder / "output").open("ab") as output:
            return subprocess.Popen(
                list(argv),
                env={**os.environ, "HOME": str(self.folder), "XDG_DATA_HOME": str(self.folder)},
                cwd=Path(__file__).parents[2],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                preexec_fn=entering(where),  # noqa: PLW1509
            )

    def longlook(self, *arguments: str, timeout_s: float = 300, **variables: str) -> "subprocess.CompletedProcess[str]":
        """Run `longlook` at home; the state of politeness is this world's own, programs are everyone's."""
        return subprocess.run(
            [LONGLOOK, *arguments],
            env={**self.variables, **variables},
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout_s,
            preexec_fn=entering(self.home),
        )

    @property
    def variables(self) -> dict[str, str]:
        """Return the environment of `longlook` at home."""
        own = {"LONGLOOK_CONTACT": "tests@example.org", "LONGLOOK_CACHE": str(self.cache), "COLUMNS": "150"}
        return {**os.environ, **own}

    def measure(self, url: str, *options: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        """Run `longlook measure` at home with this world's resolver and authority."""
        usual = ("--resolver", RESOLVER, "--ca", str(self.authority.file), "--pause", "0s")
        return self.longlook("measure", url, *usual, *options, **variables)

    def _join(self) -> None:
        self.home.netlink.link(
            "add", ifname="h0", kind="veth", peer={"ifname": "w0", "net_ns_fd": self.outside.descriptor}
        )
        for namespace, device, addresses in (
            (self.home, "h0", ("192.0.2.2/24", "2001:db8:2::2/64")),
            (self.outside, "w0", ("192.0.2.1/24", "2001:db8:2::1/64")),
        ):
            namespace.allow_ipv6(device)
            for address in addresses:
                self._add(namespace, device, address)
            namespace.netlink.link("set", index=namespace.index(device), state="up")
        for address in (WWW, OTHER, RESOLVER, "2001:db8:113::10", RESOLVER_6):
            bits = 32 if "." in address else 128
            self._add(self.outside, "w0", f"{address}/{bits}")
        self.home.netlink.route("add", dst="default", gateway="192.0.2.1")
        self.home.netlink.route("add", dst="::/0", gateway="2001:db8:2::1", family=10)

    @staticmethod
    def _add(namespace: Namespace, device: str, text: str) -> None:
        where = ipaddress.ip_interface(text)
        bits = where.network.prefixlen
        namespace.netlink.addr("add", index=namespace.index(device), address=str(where.ip), prefixlen=bits)

    def _listens(self, protocol: str, port: int) -> bool:
        with self.outside.inside():
            lines = [
                line
                for version in ("", "6")
                for line in Path(f"/proc/thread-self/net/{protocol}{version}").read_text().splitlines()[1:]
            ]
        return any(int(line.split()[1].rpartition(":")[2], 16) == port for line in lines)


def entering(namespace: Namespace) -> Callable[[], None]:
    """Return what a child does to move into a namespace."""
    return lambda: system.set_namespace(namespace.descriptor, system.CLONE_NEWNET)


def caddy_program() -> str:
    """Return Caddy itself, without its adapter."""
    stack = registry.stack("caddy")
    program = Path(stack.program(stack.default_version).path)
    return str(next(folder / "bin" / "caddy" for folder in program.parents if (folder / "bin" / "caddy").exists()))


def caddyfile(sites: Mapping[str, str], protocols: str = "h1 h2 h3") -> str:
    """Return a Caddyfile of sites (address line → body) that speak these protocols."""
    head = f"{{\n admin off\n auto_https off\n persist_config off\n servers {{\n  protocols {protocols}\n }}\n}}\n"
    return head + "".join(f"{line} {{\n{body}\n}}\n" for line, body in sites.items())


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _await(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _WITHIN_S
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not start"
        time.sleep(_POLL_S)


@contextmanager
def opened(folder: Path) -> Iterator[World]:
    """Open a world with its DNS server, in a folder of its own."""
    world = World(folder)
    try:
        world.name({})
        world.start_dns()
        yield world
    finally:
        world.close()
        shutil.rmtree(folder / "cache", ignore_errors=True)
