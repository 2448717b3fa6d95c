"""How shells ask for completions: click's ways, mended where a word holds an equals sign, a comma or, for bash, a colon."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
    split_arg_string,
)

COMPLETES: Final = "_ZCONFORM_COMPLETE"
"""The variable by which a shell's script asks `zconform` for completions."""

_BASH: Final = """\
%(complete_func)s() {
    local IFS=$'\\n' type value line
    COMPREPLY=()
    while IFS=, read -r type value; do
        case $type in
            dir) compopt -o dirnames 2>/dev/null ;;
            file) compopt -o default 2>/dev/null ;;
            plain)
                COMPREPLY+=("$value")
                [[ $value == *[/:=] ]] && compopt -o nospace 2>/dev/null ;;
        esac
    done < <(env COMP_WORDS="${COMP_LINE:0:COMP_POINT}" COMP_CWORD=0 COMP_WORDBREAKS="$COMP_WORDBREAKS" \\
        %(complete_var)s=bash_complete %(prog_name)s)
}
complete -o nosort -F %(complete_func)s %(prog_name)s 2>/dev/null || complete -F %(complete_func)s %(prog_name)s
"""


class WholeWords(ShellComplete):
    """A shell puts what it is given in the place of the whole word: of `--depth=qu` that is `--depth=quick`, and not `quick`."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[str]]:
        """As click's, each with the option that it is the value of."""
        found = super().get_completions(args, incomplete)
        option, equals, _ = incomplete.partition("=")
        if not equals or not option.startswith("--"):
            return found
        return [CompletionItem(f"{option}={item.value}", item.type, item.help) for item in found]


class Zsh(WholeWords, ZshComplete):
    """As click's, of whole words."""


class Fish(WholeWords, FishComplete):
    """As click's, of whole words; what it is given may hold commas, as a list of revisions does."""

    source_template = FishComplete.source_template.replace('string split ","', 'string split --max 1 ","')


class Bash(WholeWords, BashComplete):
    """Bash takes `faulty:name` for three words: it is asked for the line, and answered what follows the last break."""

    source_template = _BASH
    _kept = ""
    """How much of the word bash has done with."""

    @staticmethod
    def _check_version() -> None:
        """Click starts a bash for this; the script is as easy on an older one."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the cursor, and the one under it."""
        line = os.environ["COMP_WORDS"]
        words = split_arg_string(line)
        word = words.pop() if words and not line[-1].isspace() else ""
        ends = [word.rfind(each) + 1 for each in ":=" if each in os.environ.get("COMP_WORDBREAKS", ":=")]
        self._kept = word[: max(ends, default=0)]
        return words[1:], word

    def format_completion(self, item: CompletionItem[str]) -> str:
        """As click's, of a word's end alone where bash has its beginning."""
        return f"{item.type},{item.value.removeprefix(self._kept)}"


SHELLS: Final[Mapping[str, type[ShellComplete]]] = {"bash": Bash, "zsh": Zsh, "fish": Fish}
"""By the name that a user gives."""

for _each in SHELLS.values():
    add_completion_class(_each)
