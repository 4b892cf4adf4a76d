# SPDX-License-Identifier: Apache-2.0
"""Which of the user's variables reach the programs that are started here: these and no others.

What a program does must not depend on variables that its user has set for other work, such as
PYTEST_ADDOPTS, UV_CONSTRAINT, GIT_DIR, SOURCE_DATE_EPOCH or LD_PRELOAD.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

_EVERY = (
    *("PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "TERM", "NO_COLOR", "TZ"),
    *("LANG", "LANGUAGE", "LC_*"),
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
    *("http_proxy", "https_proxy", "all_proxy", "no_proxy"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR"),
)

# Of the helpers that docker and cosign ask for credentials, too.
_ACCOUNTS = (
    *("AWS_*", "AZURE_*", "GOOGLE_*", "CLOUDSDK_*"),
    *("GNUPGHOME", "PASSWORD_STORE_DIR", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"),
)

_KUBERNETES = ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT")

# Without DOCKER_DEFAULT_PLATFORM and DOCKER_CONTENT_TRUST, which change what a reference means.
_DOCKER = (
    *("DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_AUTH_CONFIG", "DOCKER_API_VERSION"),
    *("DOCKER_CERT_PATH", "DOCKER_TLS", "DOCKER_TLS_VERIFY", "SSH_AUTH_SOCK"),
    *("BUILDX_BUILDER", "BUILDX_CONFIG", "BUILDKIT_HOST"),
    "ACTIONS_*",  # the build cache of GitHub
    *_ACCOUNTS,
    *_KUBERNETES,
)

# Where another Python than the system's may find its own library, and npu-smi the driver's.
_LIBRARIES = ("LD_LIBRARY_PATH",)

# How indexes are reached and who asks; never what is chosen from them.
_UV = (
    *("UV_DEFAULT_INDEX", "UV_INDEX_*_USERNAME", "UV_INDEX_*_PASSWORD"),
    *("UV_KEYRING_PROVIDER", "UV_INSECURE_HOST", "UV_NATIVE_TLS", "UV_SYSTEM_CERTS"),
    *("UV_HTTP_TIMEOUT", "UV_CACHE_DIR"),
)
_PIP = (
    *("PIP_CONFIG_FILE", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"),
    *("PIP_CERT", "PIP_CLIENT_CERT", "PIP_TRUSTED_HOST", "PIP_PROXY", "PIP_KEYRING_PROVIDER"),
    *("PIP_TIMEOUT", "PIP_DEFAULT_TIMEOUT", "PIP_RETRIES", "PIP_CACHE_DIR"),
)
_INDEXES = ("NETRC", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "REQUESTS_CA_BUNDLE")

_OF = {
    "docker": _DOCKER,
    "pytest": (*_LIBRARIES, *_DOCKER),  # it starts docker
    "uv": (*_LIBRARIES, *_INDEXES, *_UV),
    "pip": (*_LIBRARIES, *_INDEXES, *_PIP),
    "cosign": ("COSIGN_*", "SIGSTORE_*", "VAULT_*", "DOCKER_CONFIG", *_ACCOUNTS, *_KUBERNETES),
    "grype": ("XDG_CACHE_HOME", "GRYPE_DB_*"),
    "trivy": ("XDG_CACHE_HOME", "TRIVY_CACHE_DIR", "TRIVY_DB_REPOSITORY", "TRIVY_SKIP_DB_UPDATE"),
    "git": ("XDG_CONFIG_HOME",),  # whose file may say that the repository is safe
    "npu-smi": _LIBRARIES,
}
"""Program to the names that only it gets; ``*`` stands for any text."""


def stated(program: str, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The variables of ``environ`` that reach ``program``."""
    allowed = (*_EVERY, *_OF.get(program, ()))
    return {
        name: value
        for name, value in environ.items()
        if any(fnmatchcase(name, form) for form in allowed)
    }


def program_of(argv: Sequence[str]) -> str:
    """The name of the program of a command: for Python, of the module that it runs."""
    if argv[0] == sys.executable and "-m" in argv:
        return argv[argv.index("-m") + 1]
    return Path(argv[0]).name
