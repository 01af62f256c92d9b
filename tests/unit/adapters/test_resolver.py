"""The resolver beside a browser: what it answers, and that it answers over HTTPS on loopback."""

import base64
import http.client
import ssl
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import dns.message
import dns.rcode
import dns.rdatatype
import pytest

from longlook.core.paths import adapters_dir
from longlook.provision import tls

HOST = "www.example.test"


@pytest.fixture(autouse=True)
def library(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(adapters_dir() / "lib" / "python"))
    yield
    for name in set(sys.modules) - before:
        if name.split(".")[0] == "longlook_adapter":
            del sys.modules[name]


def made(address: str = "10.8.0.2") -> Any:
    identity = tls.identity()
    kind = import_module("longlook_adapter.resolver").Resolver
    return kind("example.test", address, identity.certificate, identity.key)


def asked(resolver: Any, kind: str, name: str = HOST) -> tuple[str, list[str]]:
    """The code of an answer and its data as text."""
    answer = dns.message.from_wire(resolver.answer(dns.message.make_query(name, kind).to_wire()))
    return dns.rcode.to_text(answer.rcode()), [data.to_text() for found in answer.answer for data in found]


def test_a_record_is_given_only_where_there_is_one() -> None:
    with made() as resolver:
        assert asked(resolver, "A") == ("NOERROR", ["10.8.0.2"])
        assert asked(resolver, "AAAA") == ("NOERROR", [])
        assert asked(resolver, "HTTPS") == ("NOERROR", [])
        resolver.has_record = True
        assert asked(resolver, "HTTPS") == ("NOERROR", ['1 . alpn="h3,h2"'])
        assert asked(resolver, "HTTPS", f"_8443._https.{HOST}") == ("NOERROR", [f'1 {HOST}. alpn="h3,h2"'])
        assert asked(resolver, "A", "www.example.org") == ("NXDOMAIN", [])
    with made("fd00::2") as resolver:
        assert (asked(resolver, "A"), asked(resolver, "AAAA")) == (("NOERROR", []), ("NOERROR", ["fd00::2"]))


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_it_is_asked_over_https(method: str) -> None:
    query = dns.message.make_query(HOST, dns.rdatatype.A).to_wire()
    with made() as resolver:
        context = ssl.create_default_context(cafile=tls.identity().ca)
        context.check_hostname = False  # it is reached by its address
        connection = http.client.HTTPSConnection("127.0.0.1", resolver.port, context=context, timeout=20)
        for body, status in ((query, 200), (b"no message", 400)):
            text = base64.urlsafe_b64encode(body).decode().rstrip("=")
            target = f"/dns-query?dns={text}" if method == "GET" else "/dns-query"
            connection.request(method, target, body if method == "POST" else None)
            answer = connection.getresponse()
            data = answer.read()
            assert answer.status == status
            if status == 200:
                assert answer.getheader("content-type") == "application/dns-message"
                assert dns.message.from_wire(data).answer[0][0].to_text() == "10.8.0.2"
        connection.close()
