"""Programs: started, watched, ended; nothing outlives its stop, nor us."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil
import pytest

from zenoh_harness.errors import CannotStart
from zenoh_harness.links.timing import Deadline
from zenoh_harness.programs import processes
from zenoh_harness.programs.starvation import Starvation


def soon():
    return Deadline.after(20)


def python(code):
    return [sys.executable, "-I", "-S", "-u", "-c", code]


def gone(pid):
    """Whether the process ends in time; a zombie of another parent counts as ended."""
    try:
        one = psutil.Process(pid)
        if one.status() == psutil.STATUS_ZOMBIE:
            return True
        one.wait(10)
    except psutil.NoSuchProcess:
        return True
    except psutil.TimeoutExpired:
        return False
    return True


def line_of(program):
    return program.stdout.readline().decode().strip()


def test_an_end_is_seen_with_its_code_and_output():
    with processes.start(python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)")) as program:
        assert program.wait(soon()).code == 7
        assert program.output("stdout") == "out\n"
    assert program.output("stderr") == "err\n"
    assert not program.folder.exists()
    assert program not in processes.running()


def test_a_death_by_signal_is_told_by_its_name():
    with processes.start(python("import os, signal; os.kill(os.getpid(), signal.SIGABRT)")) as program:
        assert str(program.wait(soon())) == "signal 6 (SIGABRT)"


def test_a_command_that_is_not_there():
    with pytest.raises(CannotStart) as refused:
        processes.start(["no-such-command-anywhere"])
    assert "No such file" in str(refused.value)
    assert not processes.running()


def test_what_forks_is_ended_with_its_children():
    child = "if not os.fork(): os.setsid(); os.write(1, b'%d\\n' % os.getpid()); signal.pause()"
    code = f"import os, signal\n{child}\n{child}\nsignal.pause()"
    program = processes.start(python(code), interactive=True)
    children = [int(line_of(program)) for _ in "ab"]
    program.stop()
    assert all(gone(pid) for pid in children)


def test_a_command_that_goes_to_the_background_leaves_nothing():
    code = "import os, signal\npid = os.fork()\nif not pid: os.setsid(); signal.pause()\nprint(pid, flush=True)"
    program = processes.start(python(code), interactive=True)
    child = int(line_of(program))
    ended = program.wait(soon())
    assert (ended.code, ended.orphans) == (0, 1)
    assert gone(child)
    program.stop()


def test_who_ignores_sigterm_is_killed():
    code = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); signal.pause()"
    program = processes.start(python(code), interactive=True)
    assert line_of(program) == "up"
    assert program.stop(grace=0.2).code == -signal.SIGKILL


def test_a_stopped_process_is_ended_too():
    program = processes.start(python("print('up', flush=True)\nimport signal; signal.pause()"), interactive=True)
    assert line_of(program) == "up"
    assert not program.suspended()
    os.kill(program.pid, signal.SIGSTOP)
    deadline = soon()
    while not program.suspended():
        assert program.wait(Deadline.after(0.01)) is None
        assert not deadline.passed
    assert program.stop().code == -signal.SIGKILL


def test_what_is_written_since_a_moment_is_told_apart_from_what_was_before(tmp_path):
    code = (
        "import sys, os, time; print('before'); print('before', file=sys.stderr)\n"
        f"while not os.path.exists({str(tmp_path / 'go')!r}): time.sleep(0.01)\n"
        "for number in range(30): print('after', number)"
    )
    with processes.start(python(code)) as program:
        deadline = soon()
        while program.written() != (7, 7):
            assert not deadline.passed
            program.wait(Deadline.after(0.01))
        moment = program.written()
        assert program.lines_since(moment) == ()
        (tmp_path / "go").touch()
        assert program.wait(soon()).code == 0
        assert program.lines_since(moment, 2) == ("after 28", "after 29")
        assert program.lines_since((0, 0), 50)[-1] == "before"
    assert program.lines_since(moment) == ()


def test_megabytes_of_output_are_kept_within_bounds():
    code = "import sys; sys.stdout.write('head\\n' + 'x' * 30_000_000 + '\\ntail\\n')"
    with processes.start(python(code), limit=10_000) as program:
        assert program.wait(soon()).code == 0
        kept = program.output("stdout")
    assert kept.startswith("head")
    assert kept.endswith("tail\n")
    assert len(kept) < 150_000


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("thread 'main' panicked at src/lib.rs:1:2:", "panic"),
        ("called `Result::unwrap()` on an `Err` value: PoisonError { .. }", "poison"),
        ("memory allocation of 8589934592 bytes failed", "allocation"),
        ("==1==ERROR: AddressSanitizer: heap-use-after-free", "sanitizer"),
        ("x.c:9: f: Assertion `n > 0' failed.", "abort"),
    ],
)
def test_signs_of_death_are_found(line, kind):
    with processes.start(["printf", "%s\n", "all is well", line, "go on"]) as program:
        program.wait(soon())
        assert [(sign.kind, sign.line) for sign in program.signs()] == [(kind, line)]
    assert program.signs()[0].stream == "stdout"


def test_no_signs_in_calm_output():
    with processes.start(["echo", "listening on tcp/127.0.0.1:7447, no errors"]) as program:
        program.wait(soon())
        assert not program.signs()


def test_a_sign_in_a_flood_is_not_lost():
    noise, sign = "('x' * 999 + '\\n')", "\"thread 'x' panicked at 1\\n\""
    code = f"import sys; sys.stderr.write({noise} * 99 + {sign} + {noise} * 9000)"
    with processes.start(python(code), limit=10_000) as program:
        program.wait(soon())
        assert [sign.kind for sign in program.signs()] == ["panic"]


def test_usage_counts_the_children():
    code = "import os, signal\nif os.fork(): print('up', flush=True)\nsignal.pause()"
    with processes.start(python(code), interactive=True) as program:
        assert line_of(program) == "up"
        usage = program.usage()
        assert usage.processes == 2
        assert usage.threads >= 2
        assert usage.memory > 1_000_000
    assert program.usage() is None


def test_listening_tells_where():
    serve = "s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True)"
    code = f"import socket, signal; {serve}; signal.pause()"
    with processes.start(python(code), interactive=True) as program:
        port = int(line_of(program))
        assert program.listening() == (("127.0.0.1", port),)


@pytest.mark.parametrize("interactive", [False, True])
def test_a_program_inherits_nothing_but_its_standard_streams(interactive):
    code = "import os, sys; sys.stderr.write(' '.join(os.listdir('/proc/self/fd')))"
    with processes.start(python(code), interactive=interactive) as program:
        program.wait(soon())
        assert set(program.output().split()) == {"0", "1", "2", "3"}  # 3 is the folder that it lists


OWNER = """
import os, sys
from zenoh_harness.programs import processes
code = "import os, signal\\nif not os.fork(): os.setsid()\\nos.write(1, b'%d\\\\n' % os.getpid())\\nsignal.pause()"
program = processes.start([sys.executable, "-I", "-S", "-u", "-c", code], interactive=True)
pids = [program.stdout.readline().decode().strip() for _ in "ab"]
print(*pids, program.folder, flush=True)
os.read(0, 1)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_us(number):
    owner = subprocess.Popen([sys.executable, "-c", OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    first, second, folder = owner.stdout.readline().decode().split()
    owner.send_signal(number)
    owner.wait()
    assert gone(int(first))
    assert gone(int(second))
    for pid in [one for one in psutil.process_iter() if folder in " ".join(_cmdline(one))]:
        assert gone(pid.pid)
    assert not Path(folder).exists()
    owner.stdin.close()
    owner.stdout.close()


@pytest.mark.parametrize(
    "doing",
    [
        "processes.work_folder()",
        "processes.start(['true']).wait(Deadline.after(30))",
        "[processes.start(['cat'], interactive=True) for _ in 'abc']",
        "processes.start(['cat'], interactive=True).stop(); processes.work_folder()",
    ],
    ids=["a folder without a program", "a program that has ended", "several programs", "one stopped"],
)
def test_no_folder_outlives_a_kill(doing, tmp_path):
    code = (
        f"from zenoh_harness.programs import processes; from zenoh_harness.links.timing import Deadline; kept = {doing}"
    )
    code += "; print(flush=True); input()"
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    ) as owner:
        owner.stdout.readline()
        assert list(tmp_path.iterdir())
        below = psutil.Process(owner.pid).children(recursive=True)
        owner.kill()
        owner.wait()
    assert not psutil.wait_procs(below, timeout=30)[1]
    assert not list(tmp_path.iterdir())


def test_a_killed_parent_of_supervisors_is_replaced():
    with processes.start(["cat"], interactive=True) as program:
        psutil.Process(program.pid).parent().parent().kill()
        with processes.start(["echo", "up"]) as other:
            assert other.wait(soon()).code == 0
            assert other.output("stdout") == "up\n"
        assert program.poll() is None
        program.stdin.write(b"on\n")
        program.stdin.flush()
        assert line_of(program) == "on"


def _cmdline(process):
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def test_a_killed_supervisor_takes_the_program_with_it():
    with processes.start(python("print('up', flush=True)\nimport signal; signal.pause()"), interactive=True) as program:
        assert line_of(program) == "up"
        psutil.Process(program.pid).parent().kill()
        assert program.wait(soon()).code == -signal.SIGKILL
        assert gone(program.pid)


def test_fifty_starts_and_stops_leave_nothing(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = psutil.Process().num_fds()
    for _ in range(50):
        processes.start(["cat"], interactive=True).stop()
    assert psutil.Process().num_fds() == before
    assert not list(tmp_path.iterdir())
    assert not processes.running()


def test_what_has_no_processor_is_seen_to_wait_for_one():
    """Three that compute, on one core."""
    core = {min(os.sched_getaffinity(0))}
    busy = [sys.executable, "-c", f"import os; os.sched_setaffinity(0, {core})\nwhile True: pass"]
    programs = [subprocess.Popen(busy) for _ in range(3)]
    starvation = Starvation(programs[0].pid)
    try:
        deadline = Deadline.after(60)
        while starvation.since(0.0) < 0.1 and not deadline.passed:
            programs[0].poll()
        assert starvation.since(0.0) >= 0.1
    finally:
        for program in programs:
            program.kill()
            program.wait()
    assert Starvation(programs[0].pid).since(0.0) == 0.0
