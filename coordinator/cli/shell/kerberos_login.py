"""From the options for Kerberos to tickets."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

from coordinator.cli.kerberos import Kerberos, KerberosError, Tickets, use_configuration
from coordinator.cli.shell.connecting import OptionError
from coordinator.cli.shell.kerberos_options import PATTERN, SWITCH, KerberosOptions
from coordinator.cli.shell.options import Options


def tickets(options: Options) -> Tickets | None:
    """None where Kerberos is not switched on. Raises OptionError, also when there is no ticket to begin with."""
    service = options.krb5_remote_service_name
    if service is None:
        given = [each.name for each in fields(KerberosOptions) if getattr(options, each.name)]
        if given:
            raise OptionError(f"--{given[0].replace('_', '-')} is for Kerberos, which {SWITCH} switches on")
        return None
    if options.password or options.access_token is not None or options.external_authentication:
        raise OptionError(f"{SWITCH} and other ways to log in do not go together")
    _check_file("--krb5-keytab-path", options.krb5_keytab_path)
    _check_file("--krb5-config-path", options.krb5_config_path)
    if options.krb5_config_path is not None:
        use_configuration(options.krb5_config_path)
    try:
        made = Tickets(_asked(options, service))
        made.user()  # so that nothing is sent, nor a prompt shown, before there is a ticket
    except (ImportError, OSError) as error:  # no package, or none of the system's libraries that it needs
        raise OptionError(f"{SWITCH} needs pip install 'procession[kerberos]': {error}") from error
    except KerberosError as error:
        raise OptionError(str(error)) from error
    return made


def _asked(options: KerberosOptions, service: str) -> Kerberos:
    cache = options.krb5_credential_cache_path
    pattern = options.krb5_service_principal_pattern or PATTERN
    if not re.search("[@/]", pattern):
        raise OptionError(f"--krb5-service-principal-pattern is a name such as {PATTERN}, not {pattern}")
    return Kerberos(
        service,
        options.krb5_principal,
        options.krb5_keytab_path,
        # Kinds of caches other than files begin with their name, as in KRB5CCNAME.
        cache if cache is None or ":" in cache else f"FILE:{cache}",
        canonical=not options.krb5_disable_remote_service_hostname_canonicalization,
        pattern=pattern,
    )


def _check_file(option: str, file: Path | None) -> None:
    try:
        if file is not None:
            file.open("rb").close()
    except OSError as error:
        raise OptionError(f"{option}: {file} cannot be read: {error.strerror}") from error
