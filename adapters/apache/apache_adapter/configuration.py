"""Apache's configuration for one job."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from longlook_adapter.knobs import whole
from longlook_adapter.lines import endpoint
from longlook_adapter.options import Options

KNOBS: Mapping[str, Callable[[str], Any]] = {"max_incoming_streams": whole(1, 100_000)}
_STREAMS = 100  # Apache's own
_MODULES = ("mpm_event", "authz_core", "env", "headers", "http2", "mime", "setenvif", "ssl")
_NOBODY = 65534

_FORM = """\
ServerRoot "{folder}"
DefaultRuntimeDir "{folder}"
PidFile "{folder}/apache.pid"
ServerName www.example.test
Listen {endpoint} https
{modules}
{user}
ErrorLog /proc/self/fd/2
LogLevel notice
LogFormat '{{"address":"%{{c}}a","port":"%{{remote}}p","session":"%{{SSL_SESSION_RESUMED}}x"}}' connection
SetEnvIfExpr "%{{HTTP2}} == 'on'" over_h2
CustomLog /proc/self/fd/1 connection env=over_h2
StartServers 1
ServerLimit 1
ThreadLimit 128
ThreadsPerChild 128
MaxRequestWorkers 128
MaxKeepAliveRequests 0
TypesConfig /dev/null
AddType text/html .html
AddType image/png .png
Protocols h2
H2MaxSessionStreams {streams}
SSLEngine on
SSLProtocol TLSv1.3
SSLCertificateFile "{certificate}"
SSLCertificateKeyFile "{key}"
SSLSessionCache none
Header always set Cache-Control no-store
DocumentRoot "{www}"
<Directory "{www}">
  Require expr %{{HTTP2}} == 'on'
</Directory>
"""


def configuration(
    options: Options, knobs: Mapping[str, Any], port: int, folder: Path, modules: Path, *, as_root: bool
) -> str:
    """Return the text. HTTP/1.1 cannot be switched off: a request in it is refused (403)."""
    return _FORM.format(
        folder=folder,
        endpoint=endpoint((options.address, port)),
        modules="\n".join(f'LoadModule {name}_module "{modules}/mod_{name}.so"' for name in _MODULES),
        user=f"User #{_NOBODY}\nGroup #{_NOBODY}" if as_root else "",
        streams=knobs.get("max_incoming_streams", _STREAMS),
        certificate=options.certificate,
        key=options.key,
        www=options.www,
    )
