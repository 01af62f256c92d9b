"""Configurations that users bring for servers: what is refused, by the line, and how the rest is merged."""

import json
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from longlook.core.paths import adapters_dir

NGINX = """\
# ours
events { worker_connections 2048; }
http {
  sendfile off;
  map $uri $kind { default page; /listen "a; {b}"; }
  server {
    http2_max_concurrent_streams 4;  # few
    location / { gzip on; }
  }
}
"""
HAPROXY = """\
global
  tune.h2.fe.max-concurrent-streams 4  # few
defaults
  timeout client 30s
frontend ours
  http-response set-header X-Kind "a # b"
cache small
  total-max-size 4
"""
CADDYFILE = """\
{
\tservers {
\t\ttimeouts {
\t\t\tidle 5m
\t\t}
\t}
}
(kinds) {
\theader X-Kind "a {b}"
}
:443 {
\tencode gzip
\timport kinds
}
"""


@pytest.fixture(autouse=True)
def adapters(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = set(sys.modules)
    for name in ("lib/python", "nginx", "haproxy", "caddy", "apache"):
        monkeypatch.syspath_prepend(str(adapters_dir() / name))
    yield
    for name in set(sys.modules) - before:
        if name.split(".")[0].endswith("_adapter"):
            del sys.modules[name]


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function that reads a text as an adapter's own configuration."""

    def of(stack: str, text: str, **knobs: object) -> Any:
        file = tmp_path / "my.conf"
        file.write_text(text)
        monkeypatch.setenv("LONGLOOK_SERVER_CONFIG", str(file))
        made = import_module(f"{stack}_adapter.own").OwnConfig
        return made.of_trial(knobs) if stack != "caddy" else made.of_trial()

    return of


def refused(read: Any, stack: str, text: str, **knobs: object) -> list[str]:
    with pytest.raises(import_module("longlook_adapter.errors").BadUsageError) as raised:
        read(stack, text, **knobs)
    return str(raised.value).split("; my.conf:")


@pytest.mark.parametrize("stack", ["nginx", "haproxy", "caddy", "apache"])
def test_without_a_file_there_is_none(stack: str) -> None:
    made = import_module(f"{stack}_adapter.own").OwnConfig
    assert (made.of_trial() if stack == "caddy" else made.of_trial({})) is None


def test_nginx_reads_each_part_of_the_file_at_its_own_lines(read: Any, tmp_path: Path) -> None:
    ours = (
        "daemon off;\nevents { worker_connections 1024; }\nhttp {\n  sendfile on;\n"
        "  server {\n    http2_max_concurrent_streams 128;\n    root /www;\n  }\n}\n"
    )
    merged = read("nginx", NGINX).merged(ours, tmp_path)
    assert "sendfile on" not in merged
    assert "128" not in merged
    assert "1024" not in merged
    order = ["daemon off;", "own-events.conf", "http {", "root /www;", "own-server.conf", "own-http.conf"]
    assert [merged.index(text) for text in order] == sorted(merged.index(text) for text in order)
    http, server = ((tmp_path / f"own-{name}.conf").read_text().splitlines() for name in ("http", "server"))
    assert [line for line in http if line.strip()] == NGINX.splitlines()[3:5]
    assert (http[3], server[6].strip()) == ("  sendfile off;", "http2_max_concurrent_streams 4;")
    assert server[7] == NGINX.splitlines()[7]
    assert not (tmp_path / "own-main.conf").exists()


def test_nginx_takes_a_file_of_conf_d(read: Any) -> None:
    parts = read("nginx", "tcp_nodelay off;\nserver { gzip on; }\n").parts
    assert {name: [each.name for each in part] for name, part in parts.items()} == {
        "": [], "events": [], "http": ["tcp_nodelay"], "server": ["gzip"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("listen 443 ssl;", "listen: the laboratory sets address"),
        ("ssl_certificate a.pem;", "ssl_certificate: the laboratory sets certificate"),
        ("daemon on;", "daemon: the laboratory starts"),
        ("user www-data;", "user: the laboratory starts"),
        ("load_module modules/x.so;", "load_module: no code is loaded"),
        ("include /etc/nginx/mime.types;", "include: a trial has this one file"),
        ("map $a $b { include x; }", "include: a trial has this one file"),
        ("content_by_lua_block { x; }", "content_by_lua_block: no code runs"),
        ("perl_modules lib;", "perl_modules: no code runs"),
        ("set $early 1;", "set: the laboratory has a variable $early"),
        ("http3 on;", "http3: the study's key protocol"),
        ('"listen" 8080;', '"listen": write the name without quotes'),
        ('map $a $b { "include" /etc/x; }', '"include": write the name without quotes'),
        ("\xa0# on;", "\xa0#: write the name without quotes"),
        ("ssl_dhparam /etc/x;", "ssl_dhparam: the trial is to depend on this one file"),
        ("proxy_cache_path /tmp/x;", "proxy_cache_path: the trial is to depend on this one file"),
        ("proxy_ssl_certificate_key x;", "proxy_ssl_certificate_key: the trial is to depend"),
        ("geoip_country /x;", "geoip_country: the trial is to depend"),
        ("location / { add_header A b; }", "add_header: the laboratory's headers are in server"),
    ],
)  # fmt: skip
def test_nginx_names_the_line_and_the_reason(read: Any, line: str, reason: str) -> None:
    (found,) = refused(read, "nginx", f"# first\nserver {{\n  {line}\n}}\n")
    assert found.startswith(f"my.conf:3: {reason}")


def test_nginx_names_every_line(read: Any) -> None:
    text = NGINX + "server { }\n" + "user a;\n"
    assert refused(read, "nginx", text) == [
        "my.conf:11: server: the laboratory has one of it, and line 6 is the first",
        "12: user: the laboratory starts and ends the program",
    ]
    (found,) = refused(read, "nginx", "http {\n  add_header A b;\n}\n")
    assert found.startswith("my.conf:2: add_header: the laboratory's headers are in server")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("server;\n", "1: server: write it as server { … }"),
        ("events;\n", "1: events: write it as events { … }"),
        ("http gzip {\n}\n", "1: http: write it as http { … }"),
        ("a {" * 60, "1: more than 50 blocks"),
    ],
)
def test_nginx_refuses_a_block_of_another_form(read: Any, text: str, reason: str) -> None:
    assert refused(read, "nginx", text)[0].startswith(f"my.conf:{reason}")


def test_nginx_takes_braces_of_variables_and_headers_in_server(read: Any) -> None:
    assert read("nginx", "server {\n set $x ${host};\n add_header A b;\n}\n") is not None


def test_a_setting_of_a_knob_and_of_the_file_is_refused(read: Any) -> None:
    knob = "the study's knob max_incoming_streams sets it, too"
    (found,) = refused(read, "nginx", NGINX, max_incoming_streams=3)
    assert found.startswith(f"my.conf:7: http2_max_concurrent_streams: {knob}")
    (found,) = refused(read, "haproxy", HAPROXY, max_incoming_streams=3)
    assert found.startswith(f"my.conf:2: tune.h2.fe.max-concurrent-streams: {knob}")
    assert read("nginx", NGINX, stream_send_buffer=1 << 16) is not None
    text = "global\n  tune.quic.frontend.default-max-window-size 1m\n  tune.quic.retry-threshold 0\n"
    both = refused(read, "haproxy", text, max_window=10, retry=True)
    assert ["max_window sets it" in both[0], "retry sets it" in both[1]] == [True, True]


@pytest.mark.parametrize(
    ("text", "place"),
    [("http {\n  sendfile off\n}\n", "2"), ("http {\n", "1"), ("\n}\n", "2"), ("a 'b;\n", "1"), ("a;\nb", "2")],
)
def test_what_has_not_the_form_of_nginx_is_refused(read: Any, text: str, place: str) -> None:
    (found,) = refused(read, "nginx", text)
    assert found.startswith(f"my.conf:{place}: ")


def test_haproxy_gets_each_line_in_its_section(read: Any) -> None:
    ours = "global\n  nbthread 1\ndefaults\n  timeout client 1h\nfrontend site\n  bind x\nbackend files\n  server o x\n"
    text, lines = read("haproxy", HAPROXY).merged(ours)
    merged = list(zip(text.splitlines(), lines, strict=True))
    assert merged == [
        ("global", 0), ("  nbthread 1", 0), ("  tune.h2.fe.max-concurrent-streams 4  # few", 2),
        ("defaults", 0), ("  timeout client 1h", 0), ("  timeout client 30s", 4),
        ("frontend site", 0), ("  bind x", 0), ('  http-response set-header X-Kind "a # b"', 6),
        ("backend files", 0), ("  server o x", 0), ("cache small", 7), ("  total-max-size 4", 8),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("global\n  daemon\n", "2: daemon: the laboratory starts"),
        ("global\n  lua-load x.lua\n", "2: lua-load: no code is loaded"),
        ("global\n  no log\n", "2: log: the laboratory reads its own log"),
        ("frontend a\n  bind :443\n", "2: bind: the laboratory sets address"),
        ("backend a\n  server b 10.0.0.1:80\n", "2: server: the laboratory's origin"),
        ("frontend a\n  mode tcp\n", "2: mode: the laboratory serves HTTP"),
        ("defaults\n  option httplog\n", "2: option httplog: the laboratory reads"),
        ("listen a\n  mode tcp\n", "1: section listen: the laboratory takes global"),
        ("program a\n  command id\n", "1: section program: the laboratory takes global"),
        ("global\nfrontend a\nfrontend b\n", "3: frontend: the laboratory has one of it, and line 2"),
        (".if 1\n.endif\n", "1: .if: a trial has one configuration"),
        ("maxconn 3\n", "1: maxconn: it stands before the first section"),
        ('frontend a\n  "bind" :1\n', '2: "bind": write the name without quotes'),
        ("frontend a\n  \\x62ind :1\n", "2: \\x62ind: write the name without quotes"),
        ('frontend a\n  "${XX-bind}" :1\n', '2: "${XX-bind}": write the name without quotes'),
        ('frontend a\n  no "log"\n', '2: "log": write the name without quotes'),
        ('"listen" b\n', '1: "listen": write the name without quotes'),
        ('frontend a\n  description "$HOME"\n', "2: description: $ in double quotes"),
        ("frontend a\n  description ${HOME}\n", "2: description: $ in double quotes"),
        ('frontend a\n  description "b\n', "2: description: a text in quotes does not end"),
        ("frontend a\n  acl b src -f /etc/x\n", "2: acl: -f: the trial is to depend on this one file"),
        ('frontend a\n  http-request return "fi"le /x\n', "2: http-request: file: the trial is to depend"),
        ("frontend a\n  http-request set-header A %[src,map_ip(/x)]\n", "2: http-request: ,map_ip(: the trial"),
        ("defaults\n  errorfile 503 /x\n", "2: errorfile: the trial is to depend"),
        ("frontend a\n  http-request set-log-level silent\n", "2: http-request: the laboratory reads its own log"),
        ("global\n  # a\x0c b\u2028 c\x85 d\n  daemon\r\n", "3: daemon: the laboratory starts"),
    ],
)
def test_haproxy_names_the_line_and_the_reason(read: Any, text: str, reason: str) -> None:
    assert refused(read, "haproxy", text)[0].startswith(f"my.conf:{reason}")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{\n\tadmin off\n}\n:443\n", "2: admin: the laboratory starts"),
        ("{\n\tservers {\n\t\tprotocols h1\n\t}\n}\n", "3: protocols: the study's key protocol"),
        ("www.example.com {\n}\n", "1: www.example.com: the laboratory has one site: write its address as :443"),
        (":443 {\n\ttls internal\n}\n", "2: tls: the laboratory sets certificate"),
        (":443 {\n\thandle /a {\n\t\troot /x\n\t}\n}\n", "3: root: the laboratory sets the files"),
        (":443\nimport sites/*\n", "2: import: a trial has this one file"),
        (":443\nheader A \"b\nc\"\nfile_server\n", "4: file_server: the laboratory sets the files"),
        (":443 {\n}\n:443 {\n}\n", "3: :443: the laboratory has one site, and line 1"),
        (":443 {\n", "1: this { has no }"),
        (':443 {\n\t"import" /etc/hostname\n}\n', '2: "import": write the name without quotes'),
        (':443 {\n\theader {\n\t\t"import" /x\n\t}\n}\n', '3: "import": write the name without quotes'),
        (":443 {\n\t{$XX:root} * /etc\n}\n", "2: {$XX:root}: write the name without quotes"),
        (":443 {\n\theader A {$XX}\n}\n", "2: {$…}: it depends on more than the file"),
        (":443 {\n\trespond {env.HOME}\n}\n", "2: {env.…}: it depends on more than the file"),
        ("{\n\tlog\\\n default\n}\n", "2: log\\: no \\ can stand there"),
        (':443 {\n\t"tls" internal\n}\n', '2: "tls": write the name without quotes'),
        (":443 {\n\tlo\rg\n}\n", "2: log: the laboratory reads its own log"),
        (":443 {\n\trespond <<X\n\tlog\n\tX\n}\n", "2: <<X: no heredoc can be checked here"),
        (':443 {\n\trespond "{"\n}\n', "2: write { at the end of its line"),
        (":443 {\n\treverse_proxy a {\n\t\thandle_response {\n\t\t\troot /x\n\t\t}\n\t}\n}\n", "4: root: "),
        ("{\n\timport s\n}\n(s) {\n\tadmin off\n}\n", "5: admin: the laboratory starts"),
        ("(s) {\n\t{args[0]} default\n}\n:443 {\n}\n", "2: {args[0]}: write the name without quotes"),
    ],
)  # fmt: skip
def test_caddy_names_the_line_and_the_reason(read: Any, text: str, reason: str) -> None:
    assert refused(read, "caddy", text)[0].startswith(f"my.conf:{reason}")


def test_caddys_json_is_merged_before_the_files(read: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    own = read("caddy", CADDYFILE)
    theirs = {"listen": [":443"], "idle_timeout": 9, "routes": [{"handle": ["g"]}]}
    adapted = json.dumps({"apps": {"http": {"servers": {"srv0": theirs}}}})
    monkeypatch.setattr(type(own), "_asked", lambda *_: adapted)
    server = {"listen": ["a"], "routes": [{"handle": ["early"]}, {"handle": ["files"]}]}
    merged = own.merged({"apps": {"http": {"servers": {"server": server}}}}, "caddy", {})
    assert merged["apps"]["http"]["servers"]["server"] == {
        "listen": ["a"], "idle_timeout": 9, "routes": [{"handle": ["early"]}, {"handle": ["g"]}, {"handle": ["files"]}],
    }  # fmt: skip


def test_caddys_json_with_more_than_a_server_is_refused(read: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    own = read("caddy", CADDYFILE)
    monkeypatch.setattr(type(own), "_asked", lambda *_: '{"apps": {"layer4": {}}}')
    with pytest.raises(import_module("longlook_adapter.errors").BadUsageError, match=r"my\.conf: it makes layer4"):
        own.merged({}, "caddy", {})


HTTPD = """\
# ours
KeepAliveTimeout 9
<VirtualHost *:443>
  H2WindowSize \\
    131072
  <IfModule mod_headers.c>
    Header set X-Kind "a # b"
  </IfModule>
</VirtualHost>
"""


def test_apache_reads_the_file_behind_ours_at_its_own_lines(read: Any, tmp_path: Path) -> None:
    merged = read("apache", HTTPD, max_incoming_streams=3).merged("Listen 1\n", tmp_path)
    assert merged == f'Listen 1\nInclude "{tmp_path}/own.conf"\n'
    written, theirs = (tmp_path / "own.conf").read_text().split("\n"), HTTPD.split("\n")
    assert written == ["" if "VirtualHost" in line else line for line in theirs]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("# a\nLISTEN 80\n", "2: LISTEN: the laboratory sets address"),
        ("<VirtualHost *:443>\n  SSLEngine off\n</VirtualHost>\n", "2: SSLEngine: the laboratory sets certificate"),
        ("Cust\\\nomLog |/bin/sh x\n", "1: CustomLog: the laboratory reads its own logs"),
        ("<IfModule a>\n  LoadModule a b.so\n</IfModule>\n", "2: LoadModule: no code is loaded"),
        ("<IfFile /etc/passwd>\n</IfFile>\n", "1: IfFile: a trial has this one file"),
        ('"Listen" 8080\n', '1: "Listen": write the name without quotes'),
        ('"Include" /x\n', '1: "Include": write the name without quotes'),
        ("A \\\r\nb\r\nListen 1\n", "3: Listen: the laboratory sets address"),
        ("AuthUserFile /x\n", "1: AuthUserFile: the trial is to depend on this one file"),
        ("SSLCACertificatePath /x\n", "1: SSLCACertificatePath: the trial is to depend"),
        ('Header set A "expr=%{file:/etc/hostname}"\n', "1: Header: the trial is to depend"),
        ("<Directory /x>\n</Directory>\n", "1: Directory: the laboratory sets the rules"),
        ("ServerAdmin ${HOME}\n", "1: ServerAdmin: ${…} depends on more than the file"),
        ("<VirtualHost *:80>\n</VirtualHost>\n", "1: VirtualHost: the laboratory sets address"),
        (f"{HTTPD}{HTTPD}", "12: VirtualHost: the laboratory has one of it"),
        ("H2MaxSessionStreams 4\n", "1: H2MaxSessionStreams: the study's knob max_incoming_streams sets it, too"),
    ],
)
def test_apache_names_the_line_and_the_reason(read: Any, text: str, reason: str) -> None:
    assert refused(read, "apache", text, max_incoming_streams=3)[0].startswith(f"my.conf:{reason}")
