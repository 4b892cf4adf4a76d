# SPDX-License-Identifier: Apache-2.0
"""The report has the message itself, its reason and advice, and whose code it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ascend_doctor.command import main
from tests.test_log_reader import judged, root

SITE = "/usr/lib/python3.11/site-packages"


def reported(folder: Path, text: str) -> dict[str, Any]:
    return root(judged(folder / "a.log", text))


def traceback(*frames: str, error: str) -> str:
    lines = [f"{frame}\n    x = y\n" for frame in frames]
    return "Traceback (most recent call last):\n" + "".join(lines) + error + "\n"


def frame(path: str, line: int = 7) -> str:
    return f'  File "{path}", line {line}, in work'


def test_the_message_has_no_prefix_and_goes_on_in_its_lines(tmp_path: Path) -> None:
    prefix = "(EngineCore_DP0 pid=30023) ERROR 12-16 01:53:33 [core.py:845] "
    text = (
        f"{prefix}Traceback (most recent call last):\n"
        f'{prefix}  File "/home/user/serve.py", line 9, in main\n'
        f"{prefix}    run()\n"
        f"{prefix}KernelError: \n"
        f"{prefix}a block is too large:\n"
        f"{prefix}2097152 bits while 1572864 are there\n"
        "(APIServer pid=29811) KeyError: 'x'\n"
    )
    found = reported(tmp_path, text)
    assert found["message"] == [
        "KernelError:",
        "a block is too large:",
        "2097152 bits while 1572864 are there",
    ]
    assert found["frames"] == ["/home/user/serve.py:9 in main"]


@pytest.mark.parametrize("width", [60, 100, 140])
def test_a_long_message_is_wrapped_to_the_width_in_five_lines(
    width: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    log = tmp_path / "a.log"
    log.write_text("KeyError: " + " ".join(f"word{n}" for n in range(300)) + "\n", encoding="utf-8")
    assert main(["--log", str(log)]) == 8
    lines = capsys.readouterr().out.splitlines()
    shown = [line for line in lines if "word" in line]
    assert len(shown) == 5
    assert shown[-1].endswith(" …")
    assert max(map(len, lines)) <= width + 2


def test_the_advice_of_the_log_comes_first(tmp_path: Path) -> None:
    text = (
        "RuntimeError: NPU out of memory. Tried to allocate 2.51 GiB\n"
        "Please try to decrease `maxPrefillTokens` in config.json.\n"
    )
    found = reported(tmp_path, text)
    assert found["mend"].startswith("The log says: 'Please try to decrease `maxPrefillTokens`")
    vague = "KeyError: 'x'\nPlease check the stack trace above for the root cause\n"
    assert "The log says" not in reported(tmp_path, vague)["mend"]


def test_the_reason_of_an_inner_error_is_in_the_headline(tmp_path: Path) -> None:
    text = "E89999: Inner Error!\nE89999: the axis 7 is outside of the shape of the input\n"
    found = reported(tmp_path, text)
    assert found["what"].endswith("the axis 7 is outside of the shape of the input.")


BY_FRAMES = {
    "own": ([frame("/home/user/train.py")], "The program's own code failed"),
    "within": ([frame(f"{SITE}/sglang/a.py")], "The code of sglang failed at a.py:7"),
    "between": (
        [frame(f"{SITE}/swift/a.py"), frame(f"{SITE}/peft/b.py")],
        "swift and peft do not fit together",
    ),
    "a checkout": ([frame("/work/vllm-ascend/vllm_ascend/a.py")], "The code of vllm_ascend"),
}


@pytest.mark.parametrize("what", BY_FRAMES)
def test_whose_code_failed(what: str, tmp_path: Path) -> None:
    frames, says = BY_FRAMES[what]
    found = reported(tmp_path, traceback(*frames, error="IndexError: list index out of range"))
    assert found["what"].startswith(says)


def test_a_check_of_a_package_is_told_from_a_defect(tmp_path: Path) -> None:
    text = traceback(frame(f"{SITE}/verl/a.py"), error="ValueError: rollout.n is 0")
    found = reported(tmp_path, text.replace("x = y", 'raise ValueError("rollout.n is 0")'))
    assert found["what"].startswith("verl refused what it was given")


def test_the_exception_of_a_worker_is_shown_for_that_of_ray(tmp_path: Path) -> None:
    text = (
        "ray.exceptions.RayTaskError(IndexError): ray::Runner.run() (pid=26591, ip=192.0.2.1)\n"
        + frame(f"{SITE}/verl/a.py")
        + "\n    x = y\nIndexError: list index out of range\n"
    )
    found = reported(tmp_path, text)
    assert found["message"] == ["IndexError: list index out of range"]
    assert "verl" in found["what"]


def test_what_the_log_names_is_shown(tmp_path: Path) -> None:
    text = (
        "EI0002: [PID: 7] 2026-03-01-10:30:00.1 The wait execution of the Notify register times "
        "out. Reason: no record from remote rank [15].\n"
    )
    found = reported(tmp_path, text)
    assert found["names"]["remote rank"] == "15"
    assert found["mend"].startswith("Look at the log of rank 15 first.")


TUNE = (
    "W0429 run.py:792] Setting OMP_NUM_THREADS to 1 by default, please further tune the variable "
    "for optimal performance in your application as needed.\n"
)


def test_what_torchrun_always_says_is_neither_advice_nor_an_operator(tmp_path: Path) -> None:
    found = reported(tmp_path, TUNE + traceback(frame("/w/train.py"), error="KeyError: 'labels'"))
    assert "tune" not in found["mend"]
    assert "operator" not in found.get("names", {})


def test_certain_is_said_with_what_the_log_shows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "a.log"
    log.write_text("EJ0001: Failed to initialize the HCCP process.\n", encoding="utf-8")
    assert main(["--log", str(log)]) == 8
    assert 'certain, by "Failed to initialize the HCCP process"' in capsys.readouterr().out


def test_a_headline_has_the_code_of_the_log(tmp_path: Path) -> None:
    found = reported(tmp_path, "RuntimeError: x, error code is 107030\n")
    assert found["what"].endswith("(107030).")
    assert "107027" not in found["what"]


def test_a_remedy_fits_the_program(tmp_path: Path) -> None:
    native = "destroy stream failed, runtime result = 107003\n/work/common.h:235: CANN error\n"
    assert "spawn" not in reported(tmp_path, native)["mend"]
    python = traceback(frame("/home/user/a.py"), error="RuntimeError: x, error code is 107002")
    assert "spawn" in reported(tmp_path, python)["mend"]


FORMS = {
    "FileNotFoundError: [Errno 2] No such file or directory: '/data/a.xyz'": "/data/a.xyz is not",
    "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)": "empty or broken",
    "RuntimeError: mat1 and mat2 shapes cannot be multiplied (3x4 and 5x6)": "Shapes do not fit",
    "RuntimeError: expected scalar type Half but found Float": "Types do not fit",
    "/work/a.cpp:30: GGML_ASSERT(n == 0) failed": "check of its own (a.cpp:30): n == 0",
}


@pytest.mark.parametrize("line", FORMS)
def test_a_message_is_explained_by_its_form(line: str, tmp_path: Path) -> None:
    assert FORMS[line] in reported(tmp_path, line + "\n")["what"]
