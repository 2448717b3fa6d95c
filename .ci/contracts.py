"""Two import contracts that import-linter has not: what a module may import at all, and where a package may live.

In the configuration::

    type    = "imports_only"
    modules = ["zenoh_conformance"]        # these, with all below them
    among   = ["zenoh_harness"]            # optional: judge only imports of these; else all but the standard library
    allowed = ["zenoh_conformance", "lz4"] # may be imported, with all below them

    type     = "lives_in"
    packages = ["pyspark", "pandas"]       # imported nowhere but
    homes    = ["zenoh_reports"]           # in these and all below them; a home may be yet to come
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


def _within(module: str, packages: Iterable[str]) -> bool:
    return any(module == package or module.startswith(package + ".") for package in packages)


def _imports(graph: ImportGraph) -> Iterator[tuple[str, str, int]]:
    """Each direct import: importer, imported, line."""
    for importer in sorted(graph.modules):
        for imported in sorted(graph.find_modules_directly_imported_by(importer)):
            for detail in graph.get_import_details(importer=importer, imported=imported):
                yield importer, imported, detail["line_number"]


class _DirectImports(Contract):
    """Judges each direct import by itself."""

    def refuses(self, importer: str, imported: str) -> bool:
        """Whether this import breaks the contract."""
        raise NotImplementedError

    def rule(self) -> str:
        """The contract in words, for whoever broke it."""
        raise NotImplementedError

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Judges the graph; the findings are (importer, imported, line)."""
        findings = [found for found in _imports(graph) if self.refuses(found[0], found[1])]
        return ContractCheck(kept=not findings, metadata={"findings": findings})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Prints a line a finding."""
        for importer, imported, line in check.metadata["findings"]:
            output.print_error(f"{importer} imports {imported} (line {line}): {self.rule()}")


class ImportsOnly(_DirectImports):
    """Holds when each import of the modules is an allowed one."""

    modules: Any = fields.ListField(subfield=fields.StringField())
    among: Any = fields.ListField(subfield=fields.StringField(), required=False)
    allowed: Any = fields.ListField(subfield=fields.StringField())

    def refuses(self, importer: str, imported: str) -> bool:
        """Whether one of the modules imports what is judged and not allowed."""
        if not _within(importer, self.modules) or _within(imported, self.allowed):
            return False
        if self.among:
            return _within(imported, self.among)
        return imported.partition(".")[0] not in sys.stdlib_module_names

    def rule(self) -> str:
        """The contract in words."""
        return f"it may import only {', '.join(self.allowed)}"


class LivesIn(_DirectImports):
    """Holds when the packages are imported only in their homes."""

    packages: Any = fields.ListField(subfield=fields.StringField())
    homes: Any = fields.ListField(subfield=fields.StringField())

    def refuses(self, importer: str, imported: str) -> bool:
        """Whether one of the packages is imported away from home."""
        return _within(imported, self.packages) and not _within(importer, [*self.homes, *self.packages])

    def rule(self) -> str:
        """The contract in words."""
        return f"it lives only in {', '.join(self.homes)}"
