"""Images for tests, by the interop runner's contract: of the laboratory's quic-go, and of Debian's nginx."""

import subprocess
from pathlib import Path

from longlook.core import registry
from longlook.provision import parse_program
from tests.support.images import Entry, Image, layer, link, write_saved

_NGINX = b"""daemon off;
worker_processes 1;
pid /tmp/nginx.pid;
error_log stderr;
events { worker_connections 1024; }
http {
  default_type application/octet-stream;
  access_log off;
  client_body_temp_path /tmp/body;
  proxy_temp_path /tmp/proxy;
  fastcgi_temp_path /tmp/fastcgi;
  uwsgi_temp_path /tmp/uwsgi;
  scgi_temp_path /tmp/scgi;
  sendfile on;
  server {
    listen 443 quic;
    ssl_certificate /certs/cert.pem;
    ssl_certificate_key /certs/priv.key;
    ssl_protocols TLSv1.3;
    root /www;
  }
}
"""


def libraries(program: str) -> list[str]:
    shown = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return [word for word in shown.split() if word.startswith("/") and ":" not in word]


def image_of_quic_go(file: Path, start: bytes) -> str:
    """Write an image of quic-go's program, /endpoint, and a shell with its own libc, which begins with a script.

    Return its name as a version of a stack.
    """
    program = registry.stack("quic-go").program("0.65.0").path
    files = {"bin/sh": "/bin/sh", "endpoint": program}
    files |= {place.lstrip("/"): place for name in ("/bin/sh", program) for place in libraries(name)}
    low = layer(*(Entry(name, Path(place).read_bytes(), mode=0o755) for name, place in files.items()))
    high = layer(Entry("run_endpoint.sh", start, mode=0o755), Entry("var/state/old", b"1"))
    write_saved(file, Image((low, high), names=("lab/quic-go:latest",)))
    return _version_of(file)


def image_of_nginx(file: Path) -> str:
    """Write an image of Debian's packages alone: nginx with its libraries and its libc, and a configuration.

    It has no shell and prints no line of ours. Return its name as a version of a stack.
    """
    root = Path(registry.stack("nginx").program("1.26.3").path).parents[1] / "root"
    entries = [Entry("nginx.conf", _NGINX), link("lib", "usr/lib"), link("lib64", "usr/lib64")]
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_symlink():
            entries.append(link(name, str(path.readlink())))
        elif path.is_file():
            entries.append(Entry(name, path.read_bytes(), mode=0o755))
    start = {"Entrypoint": ["/usr/sbin/nginx", "-c", "/nginx.conf", "-e", "stderr"]}
    write_saved(file, Image((layer(*entries),), start, names=("lab/nginx:1.26.3",)))
    return _version_of(file)


def _version_of(file: Path) -> str:
    stack, version = parse_program(f"image:{file}")
    return f"{stack.name}@{version}"
