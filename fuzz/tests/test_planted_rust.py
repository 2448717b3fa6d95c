"""Faults planted in a copy of zenoh-codec are found, each within a minute; the copy without one is silent."""
# ruff: noqa: E501 - a table: a fault a line

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from zenoh_fuzz import oracle
from zenoh_fuzz.compare.targets import LibraryTarget
from zenoh_fuzz.inputs import seeds
from zenoh_fuzz.mutators import systematic
from zenoh_harness.codecs import build
from zenoh_harness.codecs.library import load
from zenoh_harness.programs.environments import cache_folder

pytestmark = [pytest.mark.needs("cargo"), pytest.mark.soak]

RELEASE = "1.10.2"
ON = "crate::FAULT.load(::core::sync::atomic::Ordering::Relaxed) =="

FAULTS = {
    "the highest bit of a CLOSE's reason is lost": (
        "transport/close.rs", "Ok(Close { reason, session })", "Ok(Close { reason: if {on} { reason & 0x7f } else { reason }, session })"),
    "a CLOSE with the reason 0x42 panics": (
        "transport/close.rs", "let session = imsg", "if {on} && reader.remaining() > 2 { panic!(\"planted\"); }\n        let session = imsg"),
    "HELLO's nibble is the length": (
        "scouting/hello.rs", "1 + ((flags >> 4) as usize)", "(if {on} { 0 } else { 1 }) + ((flags >> 4) as usize)"),
    "INIT's nibble has three bits": (
        "transport/init.rs", "1 + ((flags >> 4) as usize)", "1 + ((if {on} { flags >> 4 & 7 } else { flags >> 4 }) as usize)"),
    "the ninth byte of an integer is masked": (
        "core/zint.rs", "v |= (b as u64) << i;", "v |= ((if {on} { b & 0x7f } else { b }) as u64) << i;"),
    "an integer has eight bytes at most": (
        "core/zint.rs", "i != 7 * (VLE_LEN_MAX - 1)", "i != 7 * (VLE_LEN_MAX - (if {on} { 2 } else { 1 }))"),
    "AllComplete is All": (
        "network/request.rs", "2 => ext::QueryTarget::AllComplete,", "2 => if {on} { ext::QueryTarget::All } else { ext::QueryTarget::AllComplete },"),
    "PUSH's M is turned": (
        "network/push.rs", "imsg::has_flag(self.header, flag::M)", "(imsg::has_flag(self.header, flag::M) != ({on}))"),
    "FRAME's R is turned": (
        "transport/frame.rs", "imsg::has_flag(self.header, flag::R)", "(imsg::has_flag(self.header, flag::R) != ({on}))"),
    "a Timestamp's ZenohID may have fifteen bytes": (
        "core/timestamp.rs", "size > (uhlc::ID::MAX_SIZE)", "size > (uhlc::ID::MAX_SIZE - (if {on} { 1 } else { 0 }))"),
    "an encoding's id has sixteen bits with S": (
        "core/encoding.rs", "(id >> 1) as EncodingId", "(if {on} { id >> 1 & 0x7fff } else { id >> 1 }) as EncodingId"),
    "QUERY's parameters come without C": (
        "zenoh/query.rs", "imsg::has_flag(self.header, flag::C)", "(imsg::has_flag(self.header, flag::C) && !({on}))"),
}  # fmt: skip
"""What it is, the file, the text, and the text with `{on}` for the condition."""


@pytest.fixture(scope="module")
def patched(tmp_path_factory):
    """The library with a switch for the fault."""
    build.make(RELEASE, "library", lambda line: None)  # so that cargo has the sources
    work = tmp_path_factory.mktemp("patched") / "crate"
    build.lay_out(work, RELEASE)
    home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    [source] = (home / "registry" / "src").glob(f"*/zenoh-codec-{RELEASE}")
    shutil.copytree(source, work / "zenoh-codec")
    for number, (file, old, new) in enumerate(FAULTS.values(), 1):
        path = work / "zenoh-codec" / "src" / file
        text = path.read_text()
        assert old in text, f"{file} has no {old!r}"
        path.write_text(text.replace(old, new.replace("{on}", f"{ON} {number}"), 1))
    root = work / "zenoh-codec" / "src" / "lib.rs"
    root.write_text(
        root.read_text()
        + "\npub static FAULT: ::core::sync::atomic::AtomicU32 = ::core::sync::atomic::AtomicU32::new(0);\n"
    )
    (work / "Cargo.toml").write_text(
        (work / "Cargo.toml").read_text() + '\n[patch.crates-io]\nzenoh-codec = { path = "zenoh-codec" }\n'
    )
    interface = work / "src" / "interface.rs"
    interface.write_text(interface.read_text() + SWITCH)
    lock = work / "Cargo.lock"
    block = rf'(name = "zenoh-codec"\nversion = "{re.escape(RELEASE)}"\n)source = .*\nchecksum = .*\n'
    lock.write_text(re.sub(block, r"\1", lock.read_text()))
    environment = {
        "CARGO_TARGET_DIR": str(cache_folder() / "targets" / "cargo-patched"),
        "CARGO_PROFILE_RELEASE_OPT_LEVEL": "1",
    }
    subprocess.run([build.find_cargo(), "build", "--release", "--lib", "--offline", "--quiet"], cwd=work, check=True,
                   env=os.environ | environment)  # fmt: skip
    library = tmp_path_factory.mktemp("library") / "patched.so"
    shutil.copy(cache_folder() / "targets" / "cargo-patched" / "release" / "libzenoh_codec_target.so", library)
    return LibraryTarget(load(library)), ctypes.CDLL(str(library)).zcodec_fault


SWITCH = """
#[no_mangle]
pub extern "C" fn zcodec_fault(number: u32) {
    zenoh_codec::FAULT.store(number, std::sync::atomic::Ordering::Relaxed);
}
"""


def first_finding(target):
    """Seconds of this process until the oracle finds something, and what; None when it does not."""
    made = oracle.make_oracle("differential", (target,))
    began = time.process_time()
    for data in (*systematic.message_inputs(), *seeds.message_seeds()):
        if found := oracle.judge_input(made, data):
            return time.process_time() - began, found[0].signature
    return None


def test_the_copy_without_a_fault_is_silent(patched):
    target, choose = patched
    choose(0)
    assert first_finding(target) is None


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found(patched, name, capsys):
    target, choose = patched
    choose([*FAULTS].index(name) + 1)
    found = first_finding(target)
    with capsys.disabled():
        print(f"\n{name}: {found}")
    assert found is not None
    assert found[0] < 60
