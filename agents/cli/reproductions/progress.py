# SPDX-License-Identifier: Apache-2.0
"""How far a reproduction is, on standard error; nothing where nobody watches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


@contextmanager
def working(runs: int, *, quiet: bool) -> Iterator[Callable[[], None]]:
    """Inside, a function to be called after each run."""
    console = Console(stderr=True)
    bar = Progress(
        BarColumn(), MofNCompleteColumn(), TextColumn("runs"), TimeRemainingColumn(),
        console=console, disable=quiet or not console.is_terminal, transient=True,
    )  # fmt: skip
    with bar:
        task = bar.add_task("", total=runs)
        yield lambda: bar.advance(task)
