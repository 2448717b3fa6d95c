"""Shell completion: click's, corrected for words with an equals sign, a comma or, in bash, a colon."""

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
"""The environment variable with which a shell's script requests completions."""

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
    """Completes whole words, since a shell replaces the whole word: `--depth=qu` needs `--depth=quick`, not `quick`."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[str]]:
        """Return click's completions, each with the option that it is a value of."""
        found = super().get_completions(args, incomplete)
        option, equals, _ = incomplete.partition("=")
        if not equals or not option.startswith("--"):
            return found
        return [CompletionItem(f"{option}={item.value}", item.type, item.help) for item in found]


class Zsh(WholeWords, ZshComplete):
    """Completes whole words in zsh."""


class Fish(WholeWords, FishComplete):
    """Completes whole words in fish; a completion may contain commas, as a list of revisions does."""

    source_template = FishComplete.source_template.replace('string split ","', 'string split --max 1 ","')


class Bash(WholeWords, BashComplete):
    """Completes in bash, which splits `faulty:name` into three words: returns only what follows the last word break."""

    source_template = _BASH
    _kept = ""
    """The part of the word before its last word break."""

    @staticmethod
    def _check_version() -> None:
        """Skip click's check, which starts a bash; the script works in older ones too."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the cursor, and the word at the cursor."""
        line = os.environ["COMP_WORDS"]
        words = split_arg_string(line)
        word = words.pop() if words and not line[-1].isspace() else ""
        ends = [word.rfind(each) + 1 for each in ":=" if each in os.environ.get("COMP_WORDBREAKS", ":=")]
        self._kept = word[: max(ends, default=0)]
        return words[1:], word

    def format_completion(self, item: CompletionItem[str]) -> str:
        """Format a completion without the part that bash keeps."""
        return f"{item.type},{item.value.removeprefix(self._kept)}"


SHELLS: Final[Mapping[str, type[ShellComplete]]] = {"bash": Bash, "zsh": Zsh, "fish": Fish}
"""Shell name to its completion class."""

for _each in SHELLS.values():
    add_completion_class(_each)
