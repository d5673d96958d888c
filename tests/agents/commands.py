# SPDX-License-Identifier: Apache-2.0
"""`murmurate` as one types it: what it says on either stream, and its exit code.

Contract: `murmurate("check", cwd=folder)` runs `main()` in this process, which saves starting one, in an environment
that holds nothing of ours but what is given, with the log handlers of a fresh process; folder, environment, handlers,
levels and what Ctrl-C does are afterwards as they were.  `process` is the same in a process of its own, for what only
that shows: tests/agents/test_commands.py compares the two.  Not here: commands that are interrupted, or go on for ever.
"""

from __future__ import annotations

import io
import logging
import os
import signal
import subprocess
import sys
import tomllib
import traceback
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, chdir, contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from murmurate.agents.cli.main import main
from murmurate.config import samples
from murmurate.config.loader import load
from murmurate.config.planning import plan

CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("MURMURATE")}
"""The environment, and nothing of ours in it."""
NOWHERE = {"COLUMNS": "80"}
"""What a process finds that no terminal started."""
Done = subprocess.CompletedProcess[str]


def murmurate(*words: str | Path, cwd: Path | None = None, **environ: str) -> Done:
    """Run a verb here, to its end."""
    typed = ["murmurate", *map(str, words)]
    out, err = _stream(), _stream()
    with ExitStack() as stack:
        stack.enter_context(patch.dict(os.environ, CLEAN | NOWHERE | environ, clear=True))
        stack.enter_context(patch.object(sys, "argv", typed))
        stack.enter_context(chdir(cwd or Path.cwd()))
        stack.enter_context(_fresh_process())
        stack.enter_context(redirect_stdout(out))
        stack.enter_context(redirect_stderr(err))
        code = _exit_code()
    return subprocess.CompletedProcess(typed, code, _said(out), _said(err))


def process(*words: str | Path, cwd: Path | None = None, **environ: str) -> Done:
    """Run a verb in a process of its own, to its end."""
    return subprocess.run(
        [sys.executable, "-m", "murmurate", *map(str, words)],
        capture_output=True, text=True, check=False, timeout=120, cwd=cwd, env=CLEAN | environ,
    )  # fmt: skip


def deploy(folder: Path, example: str = "telemetry") -> Path:
    """What `murmurate init` writes, in this folder, with the small sample of events; each example is made once."""
    for name, content in _example(example).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


@cache
def _example(example: str) -> dict[str, bytes]:
    with TemporaryDirectory() as made:
        folder = Path(made) / tomllib.loads(samples.example(example))["name"]
        done = murmurate("init", folder, "--example", example, "--users", "1")
        assert done.returncode == 0, done.stderr
        small = samples.events(plan(load(folder / "murmurate.toml", {})))
        (folder / "events.sample.jsonl").write_bytes(b"".join(small))
        return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _exit_code() -> int:
    """What a shell would see once `main` has ended, in whatever way."""
    try:
        main()
    except SystemExit as end:
        if isinstance(end.code, str):
            sys.stderr.write(f"{end.code}\n")
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except Exception:
        traceback.print_exc()
        return 1
    return 0


@contextmanager
def _fresh_process() -> Iterator[None]:
    """Log handlers, levels, warnings and Ctrl-C are those that a process begins with."""
    root, loud = logging.getLogger(), logging.getLogger("aiokafka")
    handlers, levels, interrupt = root.handlers[:], (root.level, loud.level), signal.getsignal(signal.SIGINT)
    root.handlers[:] = []
    root.setLevel(logging.WARNING)
    try:
        with warnings.catch_warnings():
            yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(levels[0])
        loud.setLevel(levels[1])
        signal.signal(signal.SIGINT, interrupt)


def _stream() -> io.TextIOWrapper:
    """What a pipe is to whoever writes into it: text and bytes, and no terminal."""
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)


def _said(stream: io.TextIOWrapper) -> str:
    stream.flush()
    raw = stream.buffer
    assert isinstance(raw, io.BytesIO)
    return raw.getvalue().decode()
