# SPDX-License-Identifier: Apache-2.0
"""The pages are true: what they name exists, every record, topic and stage is described, each drawing has its table."""

import ast
import re
import shlex
from collections import defaultdict
from functools import cache
from pathlib import Path

import click
import pytest

import murmurate
from murmurate.agents.cli.main import VERBS
from murmurate.agents.cli.main import command as front
from murmurate.aggregators.measures.registry import KINDS
from murmurate.aggregators.methods.options import OF_FILTERS, OF_ONE
from murmurate.aggregators.methods.registry import kind_of, names
from murmurate.config.settings import Deployment
from murmurate.topics.codec import MESSAGES
from murmurate.topics.names import STAGES, TOPICS
from tests.page_blocks import everything

ROOT = Path(__file__).resolve().parent.parent
PAGES = (
    "CONTRIBUTING.md",
    "docs/ACCESS.md",
    "docs/ARCHITECTURE.md",
    "docs/CONCEPTS.md",
    "docs/DATA_MODEL.md",
    "docs/FAQ.md",
    "docs/GLOSSARY.md",
    "docs/LIBRARY.md",
    "docs/MEASURES.md",
    "docs/MECHANISMS.md",
    "docs/MIXING.md",
    "docs/PLUGINS.md",
    "docs/PRODUCING.md",
    "docs/PYTHON.md",
    "docs/SOURCES.md",
    "docs/SPEED.md",
    "docs/SUBSCRIBING.md",
    "docs/THREATS.md",
    "docs/TREES.md",
    "docs/TUTORIAL.md",
    "docs/WIRE.md",
    "README.md",
)
OURS = tuple(page for page in PAGES if page not in ("docs/MECHANISMS.md", "docs/WIRE.md"))
EVERY = (*PAGES, "docs/COMMANDS.md", "docs/METHODS.md", "docs/OPERATING.md")
STALE = r"not (yet )?built|is not there yet|only \w+( and \w+)* exist|no command (does|can)"
"""What a page says that speaks of an unfinished house: true when it was written, and hardly ever when it is read."""
LABELS = {"murmurate fingerprint"}
"""What reads like a command and is hashed."""
FOLDERS = ("agents", "aggregators", "config", "front", "randomizers", "topics", "tools", "benchmarks", "tests")
KAFKAS = {"max.message.bytes", "message.timestamp.type", "isolation.level", "connections.max.reauth.ms"}
EXTENSIONS = r"\.(py|md|toml|jsonl?|sh|html|js|css|png|npz|npy|csv)"


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def spans(name: str) -> list[str]:
    """What stands in backticks, outside of blocks."""
    prose = re.sub(r"^```.*?^```", "", page(name), flags=re.DOTALL | re.MULTILINE)
    return sorted(set(re.findall(r"`([^`\n]+)`", prose)))


@cache
def trees() -> dict[Path, ast.Module]:
    files = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in files}


def assigned(body: list[ast.stmt]) -> set[str]:
    names: set[str] = set()
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {one.id for target in node.targets for one in ast.walk(target) if isinstance(one, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return names


@cache
def members() -> dict[str, set[str]]:
    """Of every class and module, by its short name: what it defines, a class with what it inherits."""
    found: dict[str, set[str]] = defaultdict(set)
    bases: dict[str, set[str]] = defaultdict(set)
    for path, tree in trees().items():
        if "tests" not in path.relative_to(ROOT).parts:
            found[path.stem] |= assigned(tree.body)
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef):
                    found[node.name] |= assigned(node.body)
                    bases[node.name] |= {base.id for base in node.bases if isinstance(base, ast.Name)}
    for _ in range(4):  # generations
        for name, parents in bases.items():
            for parent in parents:
                found[name] |= found.get(parent, set())
    return found


@cache
def known_tests() -> dict[str, set[str]]:
    return {
        str(path.relative_to(ROOT)): assigned(tree.body)
        for path, tree in trees().items()
        if "tests" in path.relative_to(ROOT).parts
    }


def exists(path: str) -> bool:
    return any((base / path).exists() for base in (ROOT, ROOT / "docs"))


def named_file(name: str) -> bool:
    """A file without its folder: one of ours, or one that our code writes or reads by that name."""
    kept = any(any((ROOT / folder).rglob(name)) for folder in (*FOLDERS, "docs", "docker")) or exists(name)
    return kept or name in texts() or any(name in block.words for block in everything())  # a reader saves it so


@cache
def texts() -> set[str]:
    """Every text that code outside of tests writes."""
    return {
        node.value
        for path, tree in trees().items()
        if "tests" not in path.relative_to(ROOT).parts
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def defined(dotted: str) -> bool:
    """Whether `module.function`, `Class.method`, or `murmurate.package.module` exists."""
    first, *rest = dotted.split(".")
    if first == "mm":  # as docs/PYTHON.md imports it
        return rest[0] in murmurate.__all__
    if first == "murmurate" and len(rest) == 1 and rest[0] in murmurate.__all__:
        return True
    if first == "murmurate":
        places = [ROOT.joinpath("front", *rest), ROOT.joinpath(*rest)]
        return any(place.is_dir() or place.with_suffix(".py").is_file() for place in places) or rest[-1] in members()
    for name in rest:
        if name not in members().get(first, set()):
            return False
        first = name
    return True


def is_setting(dotted: str) -> bool:
    first, second, *_ = dotted.split(".")
    table = Deployment.model_fields.get(first)
    fields = getattr(table.annotation, "model_fields", {}) if table else {}
    return second in fields


def is_topic(dotted: str) -> bool:
    return dotted in TOPICS or dotted.partition(".")[2] in TOPICS


HASHED = ("murmurate/mechanism/1", "murmurate/mechanism/2", "murmurate/pool/1")
"""What begins a text that is hashed."""


def wrong(span: str) -> str | None:
    """What is not true about a name in backticks; None also for what is no name of ours."""
    if span.startswith(("/", "http", "\\", "^", "{", "--")) or " " in span or "*" in span:
        return None
    path, _, test = span.partition("::")
    if test:
        return None if test in known_tests().get(path, set()) else "no such test"
    if re.fullmatch(r"test_[a-z0-9_]+", span):
        return None if any(span in names for names in known_tests().values()) else "no such test"
    tags = {kind.tag for kind in MESSAGES}
    if re.fullmatch(r"([a-z_]+/)?[a-z_]+/[0-9]+", span):
        known = span in tags or f"murmurate/{span}" in tags or span in HASHED
        return None if known else "no such schema"
    if "/" in span:
        return None if not re.fullmatch(r"[\w./-]+", span) or exists(span) else "no such file"
    if re.search(EXTENSIONS + "$", span):
        return None if named_file(span) else "no such file"
    if re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+(\(\))?", span):
        dotted = span.removesuffix("()")
        good = dotted in KAFKAS or is_topic(dotted) or is_setting(dotted) or defined(dotted)
        return None if good else "no such name"
    if re.fullmatch(r"([A-Z][a-z]+){2,}|[A-Z][a-z]+Error", span):
        return None if span in members() else "no such class"
    return None


@pytest.mark.parametrize("name", PAGES)
def test_every_file_function_test_and_topic_that_a_page_names_exists(name: str) -> None:
    assert {span: said for span in spans(name) if (said := wrong(span))} == {}


def test_a_name_that_does_not_exist_is_seen() -> None:
    bad = ("agents/stages/nowhere.py", "nowhere.md", "Perturb.fly", "closing.early", "dead.letter", "shop.nowhere",
           "murmurate.nowhere", "nowhere/1", "tests/test_docs.py::test_nothing", "test_nothing", "NoSuchError",
           "privacy.nowhere")  # fmt: skip
    assert [span for span in bad if wrong(span) is None] == []
    good = ("agents/stages/perturb.py", "Perturb.fold", "closing.late", "dead.edge", "shop.raw",
            "murmurate.randomizers", "round/1", "LPA.open", "privacy.window", "StateError",
            "tests/test_docs.py::test_a_name_that_does_not_exist_is_seen")  # fmt: skip
    assert [(span, wrong(span)) for span in good if wrong(span)] == []


@pytest.mark.parametrize("name", PAGES)
def test_every_link_leads_somewhere(name: str) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)", page(name))
    assert [t for t in targets if "://" not in t and not ((ROOT / name).parent / t).exists()] == []


def test_the_data_model_describes_every_record_topic_and_stage() -> None:
    told = set(spans("docs/DATA_MODEL.md"))
    assert {kind.tag.split("/")[1] for kind in MESSAGES} - told == set()
    assert {"RawBlock", "SumsBlock", "ReportBlock", "BatchBlock"} - told == set()
    assert set(TOPICS) - told == set()
    assert set(STAGES) - told == set()
    text = page("docs/DATA_MODEL.md")
    for stage in STAGES:
        assert re.search(rf"^\| `{stage}` \| ", text, re.MULTILINE), f"no row for the state of {stage}"


def test_the_drawing_of_the_flow_has_every_stage_and_is_for_light_and_dark() -> None:
    drawing = page("docs/images/flow.svg")
    shown = set(re.findall(r">([a-z]+)</text>", drawing))
    assert set(STAGES) <= shown
    assert {"events", "raw", "sums", "rounds", "reports", "batches", "tallies", "releases"} == shown - set(STAGES)
    assert "prefers-color-scheme: dark" in drawing


def test_the_data_model_says_who_writes_each_topic() -> None:
    rows = dict(
        re.findall(
            r"^\| (`[a-z.]+`)[^|]*\| (?:edge|mixing|analysis) \|[^|]*\| ([^|]*) \|", page("docs/DATA_MODEL.md"), re.M
        )
    )
    for name in ("raw", "sums", "closings", "reports", "batches", "tallies", "releases", "dead.edge"):
        told = set(re.findall(r"`([a-z]+)`", rows[f"`{name}`"])) & set(STAGES)
        assert told <= set(TOPICS[name].writers), name
        assert told, name


def drawings(text: str) -> list[tuple[set[tuple[str, str]], set[tuple[str, str]]]]:
    """Each drawing's arrows, and the (from, to) rows of the table that follows it."""
    found = []
    pattern = r"^```mermaid\nstateDiagram-v2\n(.*?)^```\n(.*?)(?=^## |^```mermaid|\Z)"
    for drawn, rest in re.findall(pattern, text, re.M | re.S):
        arrows = set(re.findall(r"([a-z_]+) --> ([a-z_]+)", drawn))
        rows = re.findall(r"^\| ([a-z_, ]+) \| .*? \| ([a-z_]+) \| ", rest, re.M)
        steps = {(a, to) for origin, to in rows for a in re.split(r", | or ", origin)}
        found.append((arrows, {step for step in steps if step[0] != "none"} - {("from", "to")}))
    return found


def test_each_arrow_of_a_drawing_is_a_row_of_its_table_and_each_row_an_arrow() -> None:
    pairs = drawings(page("docs/DATA_MODEL.md"))
    assert len(pairs) >= 7
    for arrows, steps in pairs:
        assert arrows == steps


@pytest.mark.parametrize("name", OURS)
def test_the_prose_is_plain(name: str) -> None:
    text = page(name)
    assert "\u2014" not in text
    assert not re.search(r"(?<![\w`/])/(home|root|work|tmp|Users)/", text)


def test_every_method_and_option_has_its_row_and_no_other() -> None:
    rows = [line.split("|") for line in page("docs/METHODS.md").splitlines() if line.startswith("| `")]
    methods = [name for row in rows if len(row) == 7 for name in re.findall(r"`([^`]+)`", row[1])]
    options = [name for row in rows if len(row) == 5 for name in re.findall(r"`([^`]+)`", row[1])]
    assert sorted(methods) == sorted(names())
    written = {"goal": "for"}  # what a file calls it; the number of users is the file's own
    assert sorted(options) == sorted(
        written.get(option, option) for option in (*OF_ONE, *OF_FILTERS) if option != "users"
    )
    for row in (row for row in rows if len(row) == 7 and row[2].strip() != "both"):
        for name in re.findall(r"`([^`]+)`", row[1]):
            assert kind_of(name).division == row[2].strip()


def commands(name: str) -> list[str]:
    """Every command of ours that a page shows: after a prompt, or in backticks."""
    shown = re.findall(r"^\$ (murmurate .*)$", page(name), re.M)
    spoken = [span for span in spans(name) if re.match(r"murmurate [a-z]", span) and span not in LABELS]
    return [line.split(" #")[0].split("|")[0].split(" && ")[0].split(" >")[0].strip() for line in (*shown, *spoken)]


def unknown(line: str) -> str | None:
    """What of a command there is not: a verb, an option, or room for one more argument."""
    found: click.Command = front
    words = shlex.split(line)[1:]
    while isinstance(found, click.Group) and words and not words[0].startswith("-"):
        verb, *words = words
        inner = found.get_command(click.Context(found), verb)
        if inner is None:
            return verb
        found = inner
    options = {opt: param for param in found.params if isinstance(param, click.Option) for opt in param.opts}
    room = sum(1 if param.nargs == 1 else 99 for param in found.params if isinstance(param, click.Argument))
    while words:
        word = words.pop(0)
        name, _, value = word.partition("=")
        if not word.startswith("-"):
            room -= 1
        elif name not in options and name not in ("-h", "--help", "--version"):
            return word
        elif name in options and not options[name].is_flag and not value and words:
            words.pop(0)
    return "an argument too many" if room < 0 else None


@pytest.mark.parametrize("name", EVERY)
def test_every_command_that_a_page_shows_exists_with_its_options(name: str) -> None:
    assert {line: what for line in commands(name) if (what := unknown(line))} == {}


def test_every_verb_is_shown_on_a_page() -> None:
    shown = {line.split()[1] for name in EVERY for line in commands(name)}
    assert sorted(set(VERBS) - shown) == []


def test_every_measure_has_its_row() -> None:
    assert re.findall(r'^\| `"([a-z]+)"` \|', page("docs/MEASURES.md"), re.MULTILINE) == list(KINDS)


def test_a_command_that_does_not_exist_is_seen() -> None:
    assert unknown("murmurate fly") == "fly"
    assert unknown("murmurate topics fly") == "fly"
    assert unknown("murmurate plan screen --user 7") == "--user"
    assert unknown("murmurate plan screen fare --users 7") == "an argument too many"
    assert unknown("murmurate plan screen --users 7 --json") is None
    assert sum(len(commands(name)) for name in EVERY) > 40


@pytest.mark.parametrize("name", EVERY)
def test_no_page_speaks_of_what_is_not_built(name: str) -> None:
    assert re.findall(rf"[^.]*(?:{STALE})[^.]*", page(name)) == []


@pytest.mark.parametrize("name", ["README.md", "docs/THREATS.md"])
def test_that_windows_add_up_stands_where_the_promise_stands(name: str) -> None:
    assert re.search(r"k windows[^.]{0,80}k\s+times\s+epsilon", page(name))
