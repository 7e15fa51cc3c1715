"""``python -m sidecar --port N``: serves until SIGINT or SIGTERM."""

from __future__ import annotations

import argparse
import os
import socket
import ssl
import sys
from pathlib import Path

import uvicorn

from shared.protocol.internal_authentication import KEY_PASSWORD_VARIABLE, SECRET_VARIABLE
from sidecar.app import create_app
from sidecar.settings import VERSION, SidecarSettings


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="sidecar", description="Serve POST /v1/velox/plan: would Velox run this Presto plan fragment?"
    )
    defaults = SidecarSettings()
    _service_options(parser, defaults)
    _conversion_options(parser, defaults)
    _information_options(parser, defaults)
    return parser


def _service_options(parser: argparse.ArgumentParser, defaults: SidecarSettings) -> None:
    """Adds where and how it listens and answers."""
    parser.add_argument("--host", default=defaults.host, help="address to listen on (default: %(default)s)")
    parser.add_argument(
        "--port", type=int, default=defaults.port, help="port to listen on; 0 takes a free one (default: %(default)s)"
    )
    parser.add_argument(
        "--refusal-status",
        type=int,
        choices=(400, 422),
        default=defaults.refusal_status,
        help="HTTP status of a refused fragment; Presto C++ answers 422 (default: %(default)s)",
    )
    parser.add_argument(
        "--max-body-bytes",
        type=int,
        default=defaults.max_body_bytes,
        help="largest fragment in bytes (default: %(default)s)",
    )
    parser.add_argument(
        "--deadline-seconds",
        type=float,
        default=defaults.deadline_seconds,
        help="how long one fragment may wait and be converted (default: %(default)s)",
    )
    parser.add_argument(
        "--max-waiting",
        type=int,
        default=defaults.max_waiting,
        help="how many fragments may wait for a converter (default: %(default)s)",
    )
    parser.add_argument(
        "--shared-secret-file",
        type=Path,
        help=f"file with internal-communication.shared-secret of the coordinator, or {SECRET_VARIABLE} in the"
        " environment; without it everybody who reaches the port may ask",
    )
    parser.add_argument(
        "--https-keystore",
        type=Path,
        help="PEM file with a private key and its certificate chain; the port then speaks TLS",
    )
    parser.add_argument(
        "--https-keystore-password-file",
        type=Path,
        help=f"file with the password of that private key, or {KEY_PASSWORD_VARIABLE} in the environment",
    )
    parser.add_argument("--log-level", default="warning", choices=("debug", "info", "warning", "error"))


def _conversion_options(parser: argparse.ArgumentParser, defaults: SidecarSettings) -> None:
    """Adds how fragments are converted."""
    parser.add_argument(
        "--workers", type=int, default=defaults.workers, help="number of converter processes (default: %(default)s)"
    )
    parser.add_argument(
        "--compile-check",
        action=argparse.BooleanOptionalAction,
        default=defaults.compile_check,
        help="also compile every converted fragment over empty inputs (default: yes)",
    )
    parser.add_argument(
        "--max-depth",
        type=int,
        default=defaults.max_depth,
        help="levels of plan nodes, or of expressions, that a fragment may have (default: %(default)s)",
    )
    parser.add_argument(
        "--worker-functions",
        type=lambda text: tuple(name.lower() for name in _names(text)),
        default=defaults.worker_functions,
        help="functions that your workers have and this Velox lacks, separated by commas: sketch_theta,st_point",
    )
    parser.add_argument(
        "--char-n-to-varchar-implicit-cast",
        action=argparse.BooleanOptionalAction,
        default=defaults.char_n_to_varchar_implicit_cast,
        help="take char(n) for varchar, as workers with the property of this name do",
    )


def _information_options(parser: argparse.ArgumentParser, defaults: SidecarSettings) -> None:
    """Adds what the information endpoints tell."""
    parser.add_argument(
        "--function-catalogs",
        type=_names,
        default=defaults.function_catalogs,
        help="catalogs for which /v1/functions/{catalog} lists functions (default: native,presto)",
    )
    parser.add_argument("--environment", default=defaults.environment, help="environment that /v1/info names")
    parser.add_argument("--node-version", default=VERSION, help="version that /v1/info names (default: %(default)s)")


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def main(argv: list[str] | None = None) -> int:
    """0 after a clean stop, 2 for a wrong flag or a busy port."""
    options = vars(arguments().parse_args(argv))
    log_level, secret_file = options.pop("log_level"), options.pop("shared_secret_file")
    keystore: Path | None = options.pop("https_keystore")
    password_file: Path | None = options.pop("https_keystore_password_file")
    try:
        settings = SidecarSettings(**options, shared_secret=_secret(secret_file))
        tls = None if keystore is None else _tls(keystore, _told(KEY_PASSWORD_VARIABLE, password_file))
        listener = socket.create_server((settings.host, settings.port), reuse_port=False)
    except (ValueError, OSError) as e:
        sys.stderr.write(
            f"sidecar: cannot listen on {options['host']}:{options['port']}: {e}\n"
            if isinstance(e, OSError) and e.filename is None
            else f"sidecar: {e}\n"
        )
        return 2
    host, port = listener.getsockname()[:2]
    sys.stdout.write(f"sidecar listening on {'http' if tls is None else 'https'}://{host}:{port}\n")
    sys.stdout.flush()
    config = uvicorn.Config(
        create_app(settings),
        log_level=log_level,
        access_log=False,
        server_header=False,
        ssl_context_factory=None if tls is None else lambda *_: tls,
    )
    uvicorn.Server(config).run(sockets=[listener])
    return 0


def _tls(keystore: Path, password: str | None) -> ssl.SSLContext:
    """Raises ValueError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(keystore, password=password or "")  # else the library would ask on the terminal
    except OSError as error:
        wrong = "no private key with its certificates in PEM, or a wrong password of the key"
        raise ValueError(f"{keystore}: {wrong} ({error.strerror})") from error
    return context


def _secret(file: Path | None) -> str | None:
    """Raises OSError or ValueError. Converter processes need not know it."""
    secret = _told(SECRET_VARIABLE, file)
    if secret == "":
        raise ValueError("the shared secret is empty")
    return secret


def _told(variable: str, file: Path | None) -> str | None:
    """A secret of the file, or of the environment, from which it is taken away. Raises OSError."""
    given = os.environ.pop(variable, None)
    return given if file is None else file.read_text(encoding="utf-8").strip()


if __name__ == "__main__":
    sys.exit(main())
