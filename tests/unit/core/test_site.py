"""URLs of sites: what can be measured, and why the rest cannot."""

import pytest

from longlook.core import SiteUrlError, is_site_url, parse_site_url


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("https://www.example.org", "https://www.example.org/"),
        ("https://WWW.Example.org:443/a/b?c=d", "https://www.example.org/a/b?c=d"),
        (" https://xn--bcher-kva.example.org/ ", "https://xn--bcher-kva.example.org/"),
        ("https://www.example.org./x", "https://www.example.org/x"),
    ],
)
def test_a_url_has_one_form(text: str, canonical: str) -> None:
    assert str(parse_site_url(text)) == canonical
    assert parse_site_url(canonical) == parse_site_url(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("http://www.example.org/", "https alone"),
        ("https://www.example.org:8443/", "port 8443"),
        ("https://me:secret@www.example.org/", "user or a password"),
        ("https://www.example.org/#top", "fragment"),
        ("https://192.0.2.1/", "no host name"),
        ("https://[2001:db8::1]/", "no host name"),
        ("https://localhost/", "no host name"),
        ("https://-x.example.org/", "no host name"),
        ("https:///path", "no host name"),
        ("https://www.example.org:port/", "no URL"),
        ("https://bücher.example.org/", "ASCII form"),
        ("https://www.example.org/ä b", "percent-encoded"),
    ],
)
def test_other_texts_are_refused_with_the_reason(text: str, words: str) -> None:
    with pytest.raises(SiteUrlError, match=words):
        parse_site_url(text)


def test_a_stack_is_no_url() -> None:
    assert is_site_url("https://www.example.org/")
    assert is_site_url("ftp://www.example.org/")
    assert not is_site_url("quic-go@0.65.0")
    assert not is_site_url(None)
