"""Who asks, and by what means: options first, then the environment."""

from pathlib import Path

import pytest

from longlook.core import InputError
from longlook.outside import SiteAccess, ignored_proxies
from longlook.outside.names import _server, kept_first


@pytest.fixture
def authorities(tmp_path: Path) -> Path:
    (file := tmp_path / "ca.pem").write_text("")
    return file


def test_a_contact_goes_out_with_every_request(authorities: Path) -> None:
    access = SiteAccess.from_environment({}, contact="me@example.org", ca=authorities)
    assert access.user_agent.startswith("longlook/")
    assert access.user_agent.endswith(" (+me@example.org)")


def test_the_environment_counts_where_options_say_nothing(authorities: Path) -> None:
    named = {"LONGLOOK_CONTACT": "https://example.org/who", "LONGLOOK_RESOLVER": "192.0.2.53"}
    access = SiteAccess.from_environment(named, ca=authorities)
    assert (access.contact, access.resolver) == ("https://example.org/who", "192.0.2.53")
    assert SiteAccess.from_environment(named, ca=authorities, resolver="192.0.2.1").resolver == "192.0.2.1"
    assert SiteAccess.from_environment({**named, "LONGLOOK_SITE_CA": str(authorities)}).authorities == str(authorities)


@pytest.mark.parametrize("contact", ["", "nobody", "me@example", "me@example.org\r\nX: y", "ftp://example.org"])
def test_requests_of_nobody_are_refused(contact: str, authorities: Path) -> None:
    with pytest.raises(InputError) as caught:
        SiteAccess.from_environment({}, contact=contact, ca=authorities)
    assert "--contact" in str(caught.value.hint)


def test_authorities_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no\.pem"):
        SiteAccess.from_environment({}, contact="me@example.org", ca=tmp_path / "no.pem")


def test_proxies_of_the_environment_are_named() -> None:
    assert ignored_proxies({"HTTPS_PROXY": "http://p", "http_proxy": "", "NO_PROXY": "x", "all_proxy": "p"}) == [
        "HTTPS_PROXY",
        "all_proxy",
    ]


@pytest.mark.parametrize(
    ("text", "server"),
    [
        ("192.0.2.53", ("192.0.2.53", 53)),
        ("192.0.2.53:5353", ("192.0.2.53", 5353)),
        ("2001:db8::53", ("2001:db8::53", 53)),
        ("[2001:db8::53]:5353", ("2001:db8::53", 5353)),
    ],
)
def test_resolvers_are_addresses(text: str, server: tuple[str, int]) -> None:
    assert _server(text) == server


def test_a_resolver_by_name_is_refused() -> None:
    with pytest.raises(InputError, match="--resolver dns"):
        _server("dns.example.org")


def test_the_address_of_the_round_before_stays_if_it_is_still_there() -> None:
    assert kept_first(("203.0.113.1", "203.0.113.2"), "203.0.113.2")[0] == "203.0.113.2"
    assert kept_first(("203.0.113.1", "203.0.113.2"), "203.0.113.9")[0] == "203.0.113.1"
