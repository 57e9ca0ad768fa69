"""Consoles that print text as it is: names of files, other people's errors and values hold brackets and colons, which are no
markup and no emoji."""

from typing import Any

from rich.console import Console, ConsoleDimensions

# Width of a line into a pipe or a file, where no terminal wraps it: more than any line has.
UNLIMITED = 1_000_000


class PlainConsole(Console):
    """A console as wide as the terminal, and unlimited elsewhere: output into a pipe is never wrapped or cut."""

    def __init__(self, **settings: Any):
        super().__init__(markup=False, highlight=False, emoji=False, soft_wrap=True, **settings)

    @property
    def size(self) -> ConsoleDimensions:
        dimensions = super().size
        return dimensions if self.is_terminal or self.is_jupyter else ConsoleDimensions(UNLIMITED, dimensions.height)

    @size.setter
    def size(self, new_size: tuple[int, int]) -> None:
        self._width, self._height = new_size

    def on_broken_pipe(self) -> None:
        """Raises BrokenPipeError, with which the program's entrance ends the command."""
        raise BrokenPipeError
