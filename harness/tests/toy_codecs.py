"""Toy codecs in C, Java and Python, written from the pages alone, that tell no meaning; each takes the number of a planted fault."""

import subprocess
import sys
from pathlib import Path

import pytest

from zenoh_harness.codecs.library import header

TOYS = Path(__file__).with_name("toys")

FAULTS = {
    "c": (
        "open drops the unit of its lease",
        "the ninth byte of an integer is cut",
        "extensions stand in reverse order",
        "a z64 extension says zbuf",
        "the length of a cookie is one byte",
        "an unknown mandatory extension is accepted",
        "a ZenohID of 16 bytes is refused",
        "trailing bytes are not told",
        "the batch size has the high byte first",
        "a lease is signed",
        "CLOSE sets a bit that has no name",
    ),
    "java": (
        "HELLO drops the flag of its locators",
        "an integer has ten bytes",
        "an integer is signed",
        "a batch length is written with the high byte first",
        "a batch length is read with the high byte first",
        "the last locator is lost",
        "the count of locators is one byte",
        "an unknown role is accepted",
        "trailing bytes are not told",
        "SCOUT keeps the flag of skipped extensions",
    ),
    "python": (
        "PUSH drops the mapping of its key",
        "PUSH drops the flag of its suffix",
        "extensions stand in reverse order",
        "the id of a timestamp is unchecked",
        "trailing bytes are not told",
        "an empty payload is refused",
        "the length of a payload is one byte",
        "an integer is longer than needed",
        "a key is not made canonical",
        "an encoding has eight bits",
    ),
}
"""By language, what goes wrong with the faults from 1 on."""

NEEDS = {"c": [pytest.mark.needs("cc")], "java": [pytest.mark.needs("javac")], "python": []}


def each(without=()):
    """Every toy with every fault, and with none, as parameters; `without` these."""
    return [
        pytest.param(language, fault, id=f"{language}: {about}", marks=NEEDS[language])
        for language, faults in FAULTS.items()
        for fault, about in enumerate(("right", *faults))
        if (language, fault) not in without
    ]


def make_toy(folder, language, fault=0):
    """Return the target string of a toy with a fault, compiled into a folder."""
    if language == "python":
        return f"stdio:{sys.executable} {TOYS / 'toy.py'} {fault}"
    if language == "java":
        if not (folder / "Toy.class").exists():
            subprocess.run(["javac", "-Xlint:all", "-Werror", "-d", folder, TOYS / "Toy.java"], check=True)
        return f"stdio:java -Xshare:auto -XX:TieredStopAtLevel=1 -cp {folder} Toy {fault}"
    flags = ["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", f"-DFAULT={fault}", f"-I{header().parent}"]
    subprocess.run(["gcc", *flags, "-o", folder / f"toy{fault}.so", TOYS / "toy.c"], check=True)
    return f"lib:{folder / f'toy{fault}.so'}"
