# SPDX-License-Identifier: Apache-2.0
"""The runs of op-plugin's and torch_npu's tests: processes, groups of failures, and the page."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from ascend_sim.command.errors import UsageError
from conformance.npu_tests import groups, report, run
from conformance.npu_tests.__main__ import kept
from conformance.npu_tests.checkout import SUITES, File, copied, ordered
from conformance.operators.run import Cases, Results

OLDER = (
    "fail: RuntimeError: The Inner error is reported as above.\n"
    "npusim: operator Swish is not simulated in its aclop form (error 100024)"
)
ABORTED = (
    "crash: exit -6\n  what():  The Inner error is reported as above.\n"
    "npusim: operator Swish is not simulated in its aclop form (error 100024)"
)
SETS = "import os\nos.environ['A'] = 'B'\ndef test_it(): pass\n"
TESTS = """\
import os, sys, time, types, unittest

class Tests(unittest.TestCase):
    def test_a_pass(self): pass
    def test_b_fail(self):
        print("npusim: this is not simulated", file=sys.stderr)
        self.assertEqual(1, 2)
    @unittest.skip("for another chip")
    def test_c_skip(self): pass
    def test_d_part(self):
        for number in range(3):
            with self.subTest(number=number): self.assertLess(number, 2)
    def test_e_crash(self): os.abort()
    def test_f_hang(self): time.sleep(600)
    def test_g_poison(self):
        def ones(*_, **__): raise RuntimeError("the queue is in error")
        npu = types.SimpleNamespace(is_initialized=lambda: True, synchronize=lambda: None)
        sys.modules["torch"] = types.SimpleNamespace(npu=npu, ones=ones)
    def test_h_last(self): self.assertNotIn("torch", sys.modules)
"""


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> run.Programs:
    monkeypatch.setattr(run, "CASE_LIMIT", 3)
    return run.Programs(sys.executable, dict(os.environ), tmp_path)


def written(folder: Path, name: str, text: str) -> File:
    place = folder / name
    place.write_text(text)
    return File("op-plugin", name, place)


def cases_of(programs: run.Programs, *files: File) -> list[Cases]:
    server = run.Server(programs, "cold")
    found = [server.cases(file) for file in files]
    server.close()
    return found


def test_each_case_has_its_result(programs: run.Programs, tmp_path: Path) -> None:
    files = (
        written(tmp_path, "test_all.py", TESTS),
        written(tmp_path, "test_import.py", "import a_package_that_nobody_has"),
        written(tmp_path, "test_none.py", ""),
        written(tmp_path, "test_end.py", "def test_it(): pass\nimport os\nos._exit(3)"),
    )
    every, bad, none, ended = cases_of(programs, *files)
    cases = {name.removeprefix("Tests::test_"): result for name, result in every.items()}
    assert cases["a_pass"] == cases["g_poison"] == cases["h_last"] == "pass"
    assert "1 != 2" in cases["b_fail"]
    assert cases["b_fail"].endswith("\nnpusim: this is not simulated")
    assert "for another chip" in cases["c_skip"]
    assert "2 not less than 2" in cases["d_part"]
    assert cases["e_crash"].startswith("crash: exit -6\nFatal Python error: Aborted")
    assert cases["f_hang"].startswith("hang")
    assert len(cases) == 8
    assert "No module named 'a_package_that_nobody_has'" in bad["import"]
    assert none == {}
    assert ended == {"process": "crash: exit 3"}


def test_a_case_computing_too_long_is_slow(programs: run.Programs, tmp_path: Path) -> None:
    file = written(tmp_path, "test_slow.py", "def test_it():\n    while True: pass\n")
    assert cases_of(programs, file)[0]["test_it"].startswith("slow: more than 3 s")


def test_a_file_has_a_limit_too(
    programs: run.Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "FILE_LIMIT", 0)
    text = "import os\ndef test_a(): os.abort()\ndef test_b(): pass\n"
    (found,) = cases_of(programs, written(tmp_path, "test_limit.py", text))
    assert found["test_b"] == "not run: the file took more than 0 s"


def test_an_ended_worker_is_replaced(programs: run.Programs, tmp_path: Path) -> None:
    text = "import os, signal\ndef test_it(): os.kill(os.getppid(), signal.SIGKILL), os._exit(0)\n"
    file = written(tmp_path, "test_parent.py", text)
    server = run.Server(programs, "cold")
    assert server.cases(file) == {"test_it": "crash: the worker itself ended"}
    server.process.wait()
    replaced = server.alive()
    assert replaced.alive() is replaced
    assert replaced.cases(written(tmp_path, "test_b.py", "def test_b(): pass")) == {
        "test_b": "pass"
    }
    replaced.close()


def test_all_files_are_run_until_the_time_is_over(programs: run.Programs, tmp_path: Path) -> None:
    # Files that may set variables are run in a process that has not imported torch_npu.
    files = [written(tmp_path, f"test_{number}.py", SETS) for number in range(3)]
    assert all(file.cold for file in files)
    whole = run.Run(programs, files, None, {})
    assert len(list(whole.progress(2))) == 3
    assert whole.found == {
        f"op-plugin/test_{number}.py": {"test_it": "pass"} for number in range(3)
    }
    over = run.Run(programs, files, 0, {})
    assert list(over.progress(1)) == []


def test_a_run_can_go_on_where_an_earlier_one_ended(programs: run.Programs, tmp_path: Path) -> None:
    place = tmp_path / "results.json"
    with pytest.raises(UsageError, match="--resume needs --json FILE"):
        kept(place)
    place.write_text('{"op-plugin/test_0.py": {"test_it": "hang"}}')
    files = [written(tmp_path, f"test_{number}.py", SETS) for number in range(2)]
    rest = run.Run(programs, files, None, kept(place))
    assert list(rest.progress(1)) == ["2 of 2: op-plugin/test_1.py: 1 of 1 pass"]
    assert rest.found["op-plugin/test_0.py"] == {"test_it": "hang"}


def test_the_tests_are_copied_and_the_seed_decides_their_order(tmp_path: Path) -> None:
    checkout, copy = tmp_path / "checkout", tmp_path / "copy"
    for folder in ("npu", "npu/more", "contrib", "other"):
        (checkout / "test" / folder).mkdir(parents=True)
        (checkout / "test" / folder / "test_one.py").touch()
    (checkout / "test" / "npu" / "helper.py").touch()
    files = copied(SUITES["pytorch"], checkout, copy)
    paths = [file.path for file in files]
    assert sorted(paths) == [
        *("test/contrib/test_one.py", "test/npu/more/test_one.py", "test/npu/test_one.py"),
    ]
    assert all(file.place.is_relative_to(copy) for file in files)
    orders = {tuple(ordered(files, None, seed)) for seed in range(20)}
    assert len(orders) == 6
    assert ordered(files, None, 7) == ordered(files[::-1], None, 7)
    assert [file.path for file in ordered(files, "contrib", 0)] == ["test/contrib/test_one.py"]


def test_a_checkout_without_tests_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no test/test_base_ops: give a checkout of Ascend/op"):
        copied(SUITES["op-plugin"], tmp_path, tmp_path / "copy")


@pytest.mark.parametrize(
    ("file", "found", "group"),
    [
        ("test_silu.py", OLDER, "older operator"),
        ("test_silu.py", ABORTED, "older operator"),
        ("test_a.py", "crash: exit -11", "crash"),
        ("test_a.py", "crash: exit -9", "memory"),
        ("test_a.py", "hang", "hang"),
        ("test_a.py", "not run: the file took more than 900 s", "slow"),
        ("test_a.py", "fail: ModuleNotFoundError: No module named 'torchvision'", "package"),
        ("test_a.py", "fail: RuntimeError: Ninja is required to load C++ extensions", "compiler"),
        ("test_a.py", "fail: AttributeError: module 'torch_npu.npu' has no attribute 'x'",
         "another torch_npu"),
        ("test_a.py", "fail: RuntimeError: aclnnFoo or aclnnFooGetWorkspaceSize not in libopapi.so",
         "operator missing"),
        ("test_a.py", "fail: E\nnpusim: Glu: shapes do not fit", "error of the device"),
        ("test_a.py", "fail: AssertionError: RuntimeError not raised", "no error"),
        ("test_a.py", "fail: AssertionError: result error", "wrong value"),
        ("test_gelu.py", "fail: AssertionError: result error", "approximate"),
        ("test_a.py", "fail: KeyError: 'x'", "other"),
    ],
)  # fmt: skip
def test_the_first_matching_rule_is_the_group(file: str, found: str, group: str) -> None:
    results = {f"op-plugin/test/{file}": {"Test::test_tanh": found}}
    assert [failure.rule.group for failure in groups.failures(results)] == [group]


RESULTS: Results = {
    "op-plugin/test/test_a.py": {"one": "pass", "two": "pass", "three": "skip: chip"},
    "op-plugin/test/test_b.py": {"one": OLDER, "two": "fail: AssertionError: result error"},
    "pytorch/test/npu/test_c.py": {"one": "fail: E\nnpusim: at 0x7f12 a|b", "two": "pass"},
    "pytorch/test/npu/test_d.py": {"one": "fail: E\nnpusim: at 0x7f34 a|b"},
}


def test_cases_needing_a_real_kernel_are_not_in_the_share() -> None:
    figures = report.count(RESULTS)
    assert (figures.run, figures.passed, figures.skipped) == (7, 3, 1)
    assert figures.needs_nothing == 6


def test_the_page_has_the_figures_and_the_groups() -> None:
    page = report.page(RESULTS, 9, "torch 1")
    assert "Measured with torch 1: 4 of 9 files, chosen at random." in page
    assert "| op-plugin | 2 | 4 | 1 | 3 | 2 (66.7 %) | 1 | 0 | 1 | 0 |" in page
    assert "| all | 4 | 7 | 1 | 6 | 3 (50.0 %) | 1 | 0 | 3 | 0 |" in page
    assert "| older operator | 1 | something that is not there |" in page
    assert "| hang | 0 | the device |" in page
    assert r"| error of the device | 2 | npusim: at … a\|b | test_c.py, test_d.py |" in page
    assert "all 4 files" in report.page(RESULTS, 4, "torch 1")
