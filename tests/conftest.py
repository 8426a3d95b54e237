"""What all tests share: hypothesis profiles, a seed that repeats a run, a browser, and the one Spark session."""

from __future__ import annotations

import atexit
import gc
import os
import random
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

if TYPE_CHECKING:
    from collections.abc import Generator, Hashable, Iterator, Sequence

    from playwright.sync_api import Browser
    from pyspark.sql import SparkSession
    from xdist.remote import Producer
    from xdist.workermanage import WorkerController

Test = TypeVar("Test", bound="Hashable")
os.environ.setdefault("CARTESIUS_STRICT", "1")  # a generated function that fails where the clauses do not, raises
ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"
CHROMIUM = Path("/usr/bin/chromium-headless-shell")
SHARING = {"spark": ("tests/spark/", "tests/unit/examples/test_port_on_spark.py"), "mypy": ("tests/typing/",)}
"""The tests that share what takes one process at a time, by the beginning of their files' names."""
DIVIDED = ("tests/laws/", "tests/oracle/")
"""Where tests are handed out one by one. Other files are handed out whole: so each module's fixtures are set up in one
process, and handing out eight thousand tests one by one takes the processes' time."""

# No deadline: on two shared cores a slow example says nothing about the code. The gate draws the same examples every
# time, as it has to judge the change and not the day; `make test-long` looks elsewhere each time, and the seed in its
# header brings a run back.
settings.register_profile(
    "ci",
    max_examples=20,
    deadline=None,
    print_blob=True,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],  # nor does slow drawing
)
_part, _parts = map(int, os.environ.get("TEST_PART", "1/1").split("/"))
"""`make test-long PART=3/12`: a twelfth of the examples of every law, and every twelfth of the other tests, from the
third on. So each part takes as long as the others, and a law that fails is found by any of them. Each begins a
twelfth further on in the list: what one has no time for, another has."""
if not 1 <= _part <= _parts:
    message = f"PART={_part}/{_parts}: expected which part of how many, as in PART=3/12"
    raise pytest.UsageError(message)
LONGEST_PART = 26 * 60
"""After so many seconds of its own processor's time a process of a part begins no other test, and says which it left
out: on a quiet machine it waits for Spark and mypy for two minutes beside."""
settings.register_profile(
    "long", parent=settings.get_profile("ci"), max_examples=-(-5_000 // _parts), derandomize=False
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


gc.disable()
"""Until all is collected: imports and items stay, and to look for garbage among them takes a seventh of collecting."""


@pytest.hookimpl(tryfirst=True)  # before hypothesis reads the option
def pytest_configure(config: pytest.Config) -> None:
    given = getattr(config, "workerinput", {}).get("hypothesis_seed", config.getoption("--hypothesis-seed", None))
    if given is None and not settings().derandomize:
        given = str(random.SystemRandom().randrange(2**32))
    config.option.hypothesis_seed = given


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: WorkerController) -> None:
    """Let each process draw by the seed that the header says."""
    node.workerinput["hypothesis_seed"] = node.config.getoption("--hypothesis-seed")


def pytest_report_header(config: pytest.Config) -> str:
    profile = os.environ.get("HYPOTHESIS_PROFILE", "ci")
    seed = config.getoption("--hypothesis-seed")
    how = "" if seed is None else f" --hypothesis-seed={seed}"
    part = f" TEST_PART={_part}/{_parts}" if _parts > 1 else ""
    return f"to repeat: HYPOTHESIS_PROFILE={profile}{part}{how}"


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """Let one process of `make test` have the Spark session, and one the cache of mypy.

    pytest-xdist 3.8 has groups for that, but finds none of them under pytest 9.2.
    """
    config.option.loadscopereorder = False  # by number of tests; they come in the order of the items
    return _ByWhatIsShared(config, log)


class _ByWhatIsShared(LoadScopeScheduling):  # type: ignore[misc]  # a class of a library without types
    def _split_scope(self, nodeid: str) -> str:
        return _shared_by(nodeid) or (nodeid if nodeid.startswith(DIVIDED) else nodeid.partition("::")[0])


def _shared_by(nodeid: str) -> str | None:
    return next((group for group, files in SHARING.items() if nodeid.startswith(files)), None)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Let every second process of `make test` collect from the end on.

    Where byte code is not there yet, as in a fresh clone, to make it takes as long as all else: each makes half of it.
    """
    report = yield
    is_second = int(getattr(collector.config, "workerinput", {}).get("workerid", "gw0")[2:]) % 2
    if is_second and isinstance(collector, pytest.Directory) and report.passed:
        report.result = [*reversed(report.result or ())]
    return report


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Look for no examples in the docstrings of tests, which have none: that reads each object of each module."""
    found = yield
    if file_path.is_relative_to(TESTS) and b">>> " not in file_path.read_bytes():
        return [one for one in found if type(one) is pytest.Module]
    return found


def _place(item: pytest.Item) -> tuple[bool, tuple[str, ...]]:
    """Where a test's file stands in an order that all processes have."""
    return not item.path.is_relative_to(TESTS), item.path.parts


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what uses the Spark session, so that `-m "not spark"` needs no discipline.

    In a process of `make test`, what cannot be divided comes first: begun last, it would keep the other one waiting.
    """
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: (_shared_by(item.nodeid) is None, _place(item)))
    if _parts > 1:  # of a list that all processes have
        mine = of_part(_part, _parts, items)
        config.hook.pytest_deselected(items=[*{*items}.difference(mine)])
        items[:] = mine


def of_part(part: int, parts: int, items: Sequence[Test]) -> list[Test]:
    """Return the tests of a part: all laws, and a share of the others; each part begins elsewhere."""
    others = [item for item in items if not getattr(getattr(item, "obj", None), "is_hypothesis_test", False)]
    left = {*others} - {*others[part - 1 :: parts]}
    kept = [item for item in items if item not in left]
    first = len(kept) * (part - 1) // parts
    return kept[first:] + kept[:first]


def pytest_runtest_setup() -> None:
    """Leave out what a part has no time for; the summary lists it."""
    if _parts > 1 and time.process_time() > LONGEST_PART:
        pytest.skip(f"the {LONGEST_PART // 60} minutes of a part are over")


def pytest_collection_finish() -> None:
    """Leave what was imported and collected out of later collections: fifty tests look at every object there is."""
    gc.freeze()
    gc.enable()


atexit.register(gc.unfreeze)
"""So that no library counts it as leaked; not before, as pytest collects at its end, too."""


@pytest.fixture(autouse=True, scope="module")
def _frozen() -> None:
    """Likewise what earlier modules have left, such as what hypothesis remembers.

    Engines are cycles, and tests make a thousand a second: collected less often than by default, they take an eighth
    less time. Set anew each time, as mypy leaves ten times as much in the process that has run it, which takes longer.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The Chromium of tests, started once a module: while it runs, no other event loop can. It knows one name more."""
    if not CHROMIUM.exists():
        pytest.skip(f"there is no browser at {CHROMIUM}; Debian's package is {CHROMIUM.name}")
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=30_000)  # a machine that has other work, too
    with sync_playwright() as playwright:
        options = ["--no-sandbox", "--host-resolver-rules=MAP rebound.example 127.0.0.1"]
        found = playwright.chromium.launch(executable_path=str(CHROMIUM), args=options)
        yield found
        found.close()


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The one Spark session of a test run: two local cores, UTC, nothing written into the repository."""
    chosen_by_setup = ROOT / ".venv" / "java-home"
    if "JAVA_HOME" not in os.environ and chosen_by_setup.exists():
        os.environ["JAVA_HOME"] = chosen_by_setup.read_text().strip()
    if "JAVA_HOME" not in os.environ and shutil.which("java") is None:
        pytest.skip("no Java in JAVA_HOME or on the PATH; `make setup` finds or installs one")

    from pyspark import __version__
    from pyspark.sql import SparkSession

    # Workers are started by the JVM, which knows neither this interpreter nor pytest's `pythonpath`.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))

    folder = tmp_path_factory.mktemp("spark")
    streaming = "org.apache.spark.sql.execution.streaming"
    if not __version__.startswith("4.0"):
        streaming += ".checkpointing"
    # C1 alone and one collector: for so short a life C2 compiles more than it saves. To verify Spark's byte
    # code takes a tenth of that life.
    java = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
    options = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",  # to compile a plan for a few rows takes longer than to run it
        "spark.python.daemon.module": "spark_bridge.daemon",
        "spark.driver.host": "127.0.0.1",  # the machine's own name need not resolve
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.default.parallelism": "2",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.streaming.checkpointLocation": str(folder / "checkpoints"),
        # The default one starts a process, readlink, for each file that it renames: four hundred in seven tests.
        "spark.sql.streaming.checkpointFileManagerClass": f"{streaming}.FileSystemBasedCheckpointFileManager",
        "spark.driver.extraJavaOptions": f"{java} -Dderby.system.home={folder}",
    }
    if "coverage" in sys.modules:
        # A worker that is kept is killed at the end, with what it measured. Besides, a second way of running is worth
        # a try: nothing may depend on a worker's being kept.
        options["spark.python.worker.reuse"] = "false"
    builder = SparkSession.builder.master("local[2]").appName("cartesius-tests")
    for name, value in options.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
