"""Connect to the Docker Engine, or another engine with its API (podman's socket), and explain its errors.

The Docker SDK is an extra of the distribution: this package imports it, nothing else does.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from zenoh_harness.errors import CannotGoOn

if TYPE_CHECKING:
    from docker import DockerClient

PATIENCE = 60
"""Seconds that the daemon may take for one answer; pulls and builds stream, and are not limited."""


def connect() -> DockerClient:
    """Connect to the daemon that `DOCKER_HOST` names, or to the machine's own, and check that it answers.

    Raises CannotGoOn if there is no SDK, daemon or permission, or if the daemon does not answer.
    """
    try:
        import docker
    except ImportError as missing:
        raise CannotGoOn(
            "the Docker SDK for Python is not installed",
            step="docker",
            hint="pip install 'zenoh-conformance[docker]'",
        ) from missing
    with refusals("reach the Docker daemon"):
        client: DockerClient = docker.from_env(timeout=PATIENCE)
        client.ping()
        return client


def where() -> str:
    """Return the daemon's address for a message."""
    return os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")


def is_local() -> bool:
    """Whether the daemon runs on this machine, so that we reach what it publishes to 127.0.0.1."""
    return where().startswith(("unix:", "npipe:"))


@contextmanager
def refusals(step: str) -> Iterator[None]:
    """Turn any error of the SDK in the block into a CannotGoOn that names `step` and says what to do."""
    from docker.errors import DockerException
    from requests.exceptions import RequestException

    try:
        yield
    except (DockerException, RequestException, OSError) as refusal:
        what, hint = _in_words(refusal)
        raise CannotGoOn(f"cannot {step}", step="docker", seen=what, hint=hint) from refusal


def is_missing(refusal: BaseException) -> bool:
    """Whether the daemon answered that the object does not exist."""
    return _status(refusal) == 404


def _in_words(refusal: BaseException) -> tuple[str, str]:
    """Return a description of an error, and a hint."""
    text = " ".join(str(getattr(refusal, "explanation", None) or refusal).split())
    if "no space left on device" in text.lower():
        return "no space left on the daemon's disk", "free some (docker system df, docker image prune)"
    if _status(refusal) is not None:
        hint = (
            "a name is as in eclipse/zenoh:1.10.2" if "reference format" in text or "must be lowercase" in text else ""
        )
        return f"the daemon says: {text}", hint
    for cause in _chain(refusal):
        if type(cause).__name__ in {"ReadTimeout", "ReadTimeoutError", "TimeoutError"}:
            return f"{where()} does not answer within {PATIENCE} s", "is the daemon stuck? restart it"
        if isinstance(cause, OSError) and cause.errno in _BY_ERRNO:
            what, hint = _BY_ERRNO[cause.errno]
            return f"{where()}: {what}", hint
    return text, f"is DOCKER_HOST right? ({where()})"


_BY_ERRNO = {
    errno.ENOENT: (
        "no such socket",
        "is Docker installed and running? set DOCKER_HOST for another daemon, podman's too",
    ),
    errno.EACCES: (
        "no permission",
        "join the group docker, or set DOCKER_HOST to a socket of your own (rootless, podman)",
    ),
    errno.EPERM: (
        "no permission",
        "join the group docker, or set DOCKER_HOST to a socket of your own (rootless, podman)",
    ),
    errno.ECONNREFUSED: ("connection refused: the daemon does not run", "start it (systemctl start docker)"),
    errno.ECONNRESET: ("the daemon hung up", "is it shutting down? see its log"),
    errno.EPIPE: ("the daemon hung up", "is it shutting down? see its log"),
}


def _status(refusal: BaseException) -> int | None:
    """Return the HTTP status of an APIError, if any."""
    response: Any = getattr(refusal, "response", None)
    status = getattr(response, "status_code", None)
    return status if isinstance(status, int) else None


def _chain(refusal: BaseException) -> Iterator[BaseException]:
    """Yield an exception and all that it wraps or follows, once error: the SDK buries the OSError in any of them."""
    seen: set[int] = set()
    waiting: list[Any] = [refusal]
    while waiting:
        error = waiting.pop()
        if not isinstance(error, BaseException) or id(error) in seen:
            continue
        seen.add(id(error))
        yield error
        waiting += [*error.args, error.__cause__, error.__context__, getattr(error, "reason", None)]
