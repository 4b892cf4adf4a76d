# SPDX-License-Identifier: Apache-2.0
"""Runs programs and threads so that an interrupt also stops all processes that they started."""

from __future__ import annotations

import codecs
import math
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext, suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeVar

from cannery.common.errors import EngineError, Problem, file_error

_running: set[subprocess.Popen[bytes]] = set()
_stopping: list[bool] = []
"""Not empty while a thread is stopping all programs."""

_SECONDS = 0.2
"""The maximum delay until a signal is handled."""

_NOTICE_AFTER = 10.0
"""Seconds without news after which users believe that nothing happens any more."""


MOST_OUTPUT = 64 << 20
"""The most bytes of a program's output that are kept."""

_LONGEST_LINE = 16 << 20


class OutputError(EngineError):
    """A program has printed too much, and was stopped."""

    def __init__(self, program: str) -> None:
        what = f"{program} printed more than {MOST_OUTPUT >> 20} MB, or one line of more than "
        what += f"{_LONGEST_LINE >> 20} MB, and was stopped."
        super().__init__(Problem(what=what, fix="See what it runs."))


class Stopped(BaseException):
    """The run is being stopped, and a program was stopped with it; its output is incomplete."""


@contextmanager
def stopping() -> Iterator[None]:
    """Stop the programs of all threads, and start no program until the block ends.

    An interrupt reaches only the main thread; without this, programs of other threads would
    continue.
    """
    _stopping.append(True)
    try:
        for process in [*_running]:
            if process.poll() is None:
                _stop(process)
        yield
    finally:
        _stopping.pop()


def run(
    argv: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    waiting: Callable[[], None] | None = None,
) -> tuple[int, str]:
    """Run ``argv``; return its exit code and its output (both streams).

    ``env`` is added to ``allowed_env``. ``waiting`` is called every 10 seconds while it runs. After
    an interrupt, the program and its children are stopped before KeyboardInterrupt, or Stopped in
    another thread, is raised.
    """
    code, output = _collected(argv, math.inf, waiting, cwd=cwd, env=env)
    assert code is not None
    return code, output


def run_within(
    argv: Sequence[str], seconds: float, waiting: Callable[[], None] | None = None
) -> tuple[int | None, str]:
    """As ``run``; the exit code is None if it took more than ``seconds`` and was stopped."""
    return _collected(argv, seconds, waiting)


def _collected(
    argv: Sequence[str],
    seconds: float,
    waiting: Callable[[], None] | None,
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> tuple[int | None, str]:
    with _started(argv, cwd=cwd, env=env) as process:
        kept, reported = bytearray(), time.monotonic()
        try:
            for _, piece in pieces(process, seconds):
                _keep(process, argv, kept, piece)
                if waiting and time.monotonic() - reported >= _NOTICE_AFTER:
                    waiting()
                    reported = time.monotonic()
        except TimeoutError:
            _stop(process)
            return None, _text(kept)
        return process.wait(), _text(kept)


def _keep(
    process: subprocess.Popen[bytes], argv: Sequence[str], kept: bytearray, piece: bytes
) -> None:
    kept += piece
    if len(kept) > MOST_OUTPUT:
        raise _too_much(process, argv)


def _too_much(process: subprocess.Popen[bytes], argv: Sequence[str]) -> OutputError:
    """The error for ``process``, which cannot print any more: it might wait to say why it ends."""
    assert process.stdout
    process.stdout.close()
    return OutputError(argv[0])


def _text(output: bytes | bytearray) -> str:
    text = output.decode("utf-8", errors="replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def pieces(
    process: subprocess.Popen[bytes], seconds: float = math.inf
) -> Iterator[tuple[int, bytes]]:
    """The output of ``process`` as it comes: its stream, 1 or 2, and a piece, which may be empty.

    Raises:
        TimeoutError: it has not closed both streams after ``seconds``.
    """
    streams = {1: process.stdout, 2: process.stderr}
    end = time.monotonic() + seconds
    with selectors.DefaultSelector() as waiting:
        for number, opened in streams.items():
            if opened:
                waiting.register(opened, selectors.EVENT_READ, number)
        while waiting.get_map():
            if time.monotonic() > end:
                raise TimeoutError
            # Waiting without a timeout would not notice a signal that another thread has received.
            ready = waiting.select(min(_SECONDS, max(end - time.monotonic(), 0)))
            for key, _ in ready:
                piece = os.read(key.fd, 1 << 16)
                yield key.data, piece
                if not piece:
                    waiting.unregister(key.fileobj)
            if not ready:
                yield 1, b""


@contextmanager
def _started(
    argv: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> Iterator[subprocess.Popen[bytes]]:
    """A running program; the end of the block waits for it."""
    if _stopping:
        raise Stopped
    runs_module = argv[0] == sys.executable and "-m" in argv
    program = argv[argv.index("-m") + 1] if runs_module else Path(argv[0]).name
    try:
        process = subprocess.Popen(
            argv,
            cwd=cwd,
            env={**allowed_env(program), **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        if cwd and not cwd.is_dir():
            raise file_error("enter", cwd, error) from error
        if isinstance(error, FileNotFoundError):
            what = f"{argv[0]} is not installed. 'bash setup.sh' installs it."
            raise EngineError(what) from error
        raise file_error("run", Path(argv[0]), error) from error
    with process:
        _running.add(process)
        try:
            if not _stopping:
                yield process
        except BaseException:
            _stop(process)
            raise
        finally:
            _running.discard(process)
            if _stopping:
                _stop(process)
    if _stopping:
        raise Stopped


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Stop the process group with SIGINT, then with SIGTERM, and at last with SIGKILL."""
    for step in (signal.SIGINT, signal.SIGTERM):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, step)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=10)
            break
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def stream(
    argv: Sequence[str], heard: Callable[[str], None], env: Mapping[str, str] | None = None
) -> int:
    """Run ``argv``, call ``heard`` with every line of its output, and return its exit code."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    with _started(argv, env=env) as process:
        left = ""
        for _, piece in pieces(process):
            *lines, left = (left + decoder.decode(piece)).split("\n")
            if len(left) > _LONGEST_LINE:
                raise _too_much(process, argv)
            for line in lines:
                heard(line + "\n")
        if left := left + decoder.decode(b"", final=True):
            heard(left)
        return process.wait()


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
    "podman": ("XDG_*", "CONTAINER_HOST", "CONTAINERS_*", "REGISTRY_AUTH_FILE"),
    "pytest": (*_LIBRARIES, *_DOCKER),  # it starts docker
    "uv": (*_LIBRARIES, *_INDEXES, *_UV),
    "pip": (*_LIBRARIES, *_INDEXES, *_PIP),
    "cosign": ("COSIGN_*", "SIGSTORE_*", "VAULT_*", "DOCKER_CONFIG", *_ACCOUNTS, *_KUBERNETES),
    "grype": ("XDG_CACHE_HOME", "GRYPE_DB_*"),
    "trivy": ("XDG_CACHE_HOME", "TRIVY_CACHE_DIR", "TRIVY_DB_REPOSITORY", "TRIVY_SKIP_DB_UPDATE"),
    "osv-scanner": ("XDG_CACHE_HOME", "OSV_SCANNER_LOCAL_DB_CACHE_DIRECTORY"),
    "git": ("XDG_CONFIG_HOME",),  # whose file may say that the repository is safe
    "npu-smi": _LIBRARIES,
}
"""Program to the names that only it gets; ``*`` stands for any text."""


def allowed_env(program: str, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The variables of ``environ`` that reach ``program``."""
    allowed = (*_EVERY, *_OF.get(program, ()))
    return {k: v for k, v in environ.items() if any(fnmatchcase(k, form) for form in allowed)}


T = TypeVar("T")
R = TypeVar("R")


@contextmanager
def workers(count: int) -> Iterator[Callable[[Callable[[T], R], T], Future[R]]]:
    """A function that gives work to ``count`` threads; the end of the block waits for all work.

    The first error of the work or of the block is raised at the end; work that has not begun by
    then is dropped. An interrupt stops all programs that the work runs.
    """
    given: list[Future[Any]] = []
    failed: list[BaseException] = []

    def begin(work: Callable[[T], R], item: T) -> R:
        if failed:
            raise Stopped
        try:
            return work(item)
        except BaseException as error:
            failed.append(error)
            raise

    with ThreadPoolExecutor(count) as pool:

        def give(work: Callable[[T], R], item: T) -> Future[R]:
            given.append(pool.submit(begin, work, item))
            return given[-1]

        try:
            yield give
            _wait(given, failed)
        except BaseException as error:
            with nullcontext() if isinstance(error, Exception) else stopping():
                pool.shutdown(cancel_futures=True)
            raise


def _wait(given: Sequence[Future[Any]], failed: Sequence[BaseException]) -> None:
    left = {*given}
    while left and not failed:
        # A signal that another thread has received wakes no thread that waits for a lock.
        _, left = wait(left, timeout=_SECONDS, return_when=FIRST_COMPLETED)
    if failed:
        raise failed[0]


def each_in_thread(work: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """The results of ``work`` for each of ``items``, in their order, each in its own thread."""
    if len(items) < 2:
        return [work(item) for item in items]
    with workers(len(items)) as give:
        made = [give(work, item) for item in items]
    return [future.result() for future in made]
