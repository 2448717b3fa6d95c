"""Environments for wheels: made once, by whoever comes first; a version that cannot be had is told."""

import subprocess
import sys
import threading

import pytest

from zenoh_harness.errors import CannotGoOn, UsageError
from zenoh_harness.programs import environments

PACKAGE = "eclipse-zenoh"


def test_an_environment_is_made_once_by_many_at_once(tmp_path, monkeypatch):
    monkeypatch.setenv(environments.CACHE_VARIABLE, str(tmp_path))
    made, found = [], []
    real = environments._make
    monkeypatch.setattr(environments, "_make", lambda *arguments: (made.append(1), real(*arguments)))
    makers = [
        threading.Thread(target=lambda: found.append(environments.python_with(PACKAGE, "1.10.2"))) for _ in range(3)
    ]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join()
    assert len(made) == 1
    assert len(set(found)) == 1
    said = subprocess.run([found[0], "-c", "import zenoh; print(zenoh.__name__)"], capture_output=True, check=True)
    assert said.stdout == b"zenoh\n"


def test_one_that_was_left_half_made_is_made_again(tmp_path, monkeypatch):
    monkeypatch.setenv(environments.CACHE_VARIABLE, str(tmp_path))
    tag = f"{sys.implementation.cache_tag}-{sys.platform}"
    half = tmp_path / "environments" / f"{PACKAGE}-1.10.2-{tag}" / "bin"
    half.mkdir(parents=True)
    (half / "python").write_text("cut off")
    made = []
    monkeypatch.setattr(environments, "_make", lambda folder, *_: made.append(folder))
    environments.python_with(PACKAGE, "1.10.2")
    assert made


@pytest.mark.parametrize(
    ("version", "says"),
    [("1.8.0", "no wheel for this platform"), ("1.10.99", "there is no"), ("one", "there is no")],
)
def test_a_version_that_is_not_there(tmp_path, monkeypatch, version, says):
    monkeypatch.setenv(environments.CACHE_VARIABLE, str(tmp_path))
    with pytest.raises(UsageError) as refused:
        environments.python_with(PACKAGE, version, known=("1.7.2", "1.9.0", "1.10.2"))
    assert says in str(refused.value)
    assert "1." in refused.value.hint
    assert not list((tmp_path / "environments").glob(f"*{version}*/bin"))


def test_no_index_to_ask(tmp_path, monkeypatch):
    monkeypatch.setenv(environments.CACHE_VARIABLE, str(tmp_path))
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "empty"))
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    with pytest.raises(CannotGoOn) as refused:
        environments.python_with(PACKAGE, "1.10.2")
    assert refused.value.exit_code == 3
    assert "package index" in refused.value.hint


def test_a_cache_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(environments.CACHE_VARIABLE, str(tmp_path / "file"))
    with pytest.raises(CannotGoOn, match="cannot make"):
        environments.python_with(PACKAGE, "1.10.2")


def test_a_maker_that_hangs_is_told(tmp_path, monkeypatch):
    import filelock

    monkeypatch.setenv(environments.CACHE_VARIABLE, str(tmp_path))
    monkeypatch.setattr(environments, "_MAKING", 0.2)
    tag = f"{sys.implementation.cache_tag}-{sys.platform}"
    (tmp_path / "environments").mkdir()
    with filelock.FileLock(tmp_path / "environments" / f"{PACKAGE}-1.10.2-{tag}.lock"):
        with pytest.raises(CannotGoOn, match="another process is still making"):
            environments.python_with(PACKAGE, "1.10.2")
