"""Signs of death: told by their form, never by a word."""

import pytest

from zenoh_harness.programs.signs import WORDS, classify, grave, kind_of, words


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("thread 'main' panicked at src/lib.rs:1:2:", "panic"),
        ("thread 'rx-0' (4711) panicked at src/lib.rs:1:2:", "panic"),
        ("2026-01-01T00:00:00Z thread '<unnamed>' panicked at 'no', src/lib.rs:1:2", "panic"),
        ("fatal runtime error: stack overflow", "panic"),
        ("pyo3_runtime.PanicException: called `Option::unwrap()`", "panic"),
        ("terminate called after throwing an instance of 'std::runtime_error'", "panic"),
        ("called `Result::unwrap()` on an `Err` value: PoisonError { .. }", "poison"),
        ("memory allocation of 8589934592 bytes failed", "allocation"),
        ("==1==ERROR: AddressSanitizer: heap-use-after-free", "sanitizer"),
        ("==12== ERROR: LeakSanitizer: detected memory leaks", "sanitizer"),
        ("WARNING: ThreadSanitizer: data race (pid=12)", "sanitizer"),
        ("src/codec.c:12:7: runtime error: shift exponent 64 is too large", "sanitizer"),
        ("x.c:9: f: Assertion `n > 0' failed.", "abort"),
        ("free(): double free detected in tcache 2", "abort"),
        ("double free or corruption (fasttop)", "abort"),
        ("*** stack smashing detected ***: terminated", "abort"),
    ],
)
def test_a_form_is_known(line, kind):
    assert kind_of(line) == kind
    assert any(word in line.lower() for word in WORDS)


@pytest.mark.parametrize(
    "line",
    [
        "panic: the peer sent a bad batch, session closed",
        "ERROR panic handler installed",
        "no panic, all is well",
        "the router panicked at the sight of it",
        "runtime error: none so far",
        "AddressSanitizer is off",
        "assertion failed: none",
        "out of memory is handled",
        "free(session) done",
        "goroutine 7 is idle",
        "fatal error: cannot open the config",
    ],
)
def test_a_word_is_no_form(line):
    assert kind_of(line) == ""
    assert classify([("stderr", line)]) == []


def test_go_panics_with_a_goroutine_on_the_same_stream():
    trace = ("stderr", "goroutine 1 [running]:")
    assert [sign.line for sign in classify([("stderr", "panic: index out of range"), trace])] == [
        "panic: index out of range"
    ]
    assert classify([("stdout", "panic: index out of range"), trace]) == []
    assert classify([trace]) == []


def test_a_target_names_its_own_form():
    own = ("*** BUG *", "core fault")
    assert classify([("stdout", "12:00 *** BUG in codec.c")], own)[0].kind == "panic"
    assert kind_of("core FAULT", own) == ""
    assert "core fault" in words(own)


def test_a_cause_has_no_number_of_a_thread():
    first, second = (classify([("stderr", f"thread 'rx-{n}' ({n}) panicked at a.rs:1")])[0] for n in (1, 22))
    assert first.cause == second.cause == "thread 'rx' panicked at a.rs:1"


def test_only_panics_and_sanitizers_are_faults_by_themselves():
    calm = classify([("stderr", "PoisonError { .. }"), ("stderr", "memory allocation of 7 bytes failed")])
    assert grave(calm) is None
    assert grave([*calm, *classify([("stderr", "==1==ERROR: AddressSanitizer: x")])]).kind == "sanitizer"
