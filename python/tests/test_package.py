"""The package itself: importing it, its command, and what it is like with others."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from importlib import metadata
from pathlib import Path

import pytest
from conftest import COMMAND

import epgt


def python(code: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, **options)


def test_the_package_needs_numpy_and_nothing_else() -> None:
    required = [line for line in metadata.requires("epgt") or [] if "extra ==" not in line]
    assert [line.split(">")[0] for line in required] == ["numpy"]
    code = "import epgt, sys; print(sorted({'gymnasium', 'torch', 'pandas', 'onnx'} & set(sys.modules)))"
    assert python(code).stdout == "[]\n"


def test_importing_takes_less_than_three_tenths_of_a_second() -> None:
    # In time of the processor, which does not depend on what else the machine does.
    code = "import time; t = time.process_time(); import epgt; print(time.process_time() - t)"
    assert min(float(python(code).stdout) for _ in range(5)) < 0.3


def test_version_and_types_are_there() -> None:
    assert epgt.__version__ == metadata.version("epgt")
    assert (Path(epgt.__file__).parent / "py.typed").exists()
    assert "CartPole-v1" in epgt.tasks()


def test_every_exception_is_an_epgt_error() -> None:
    raised = [value for name, value in vars(epgt).items() if name in epgt.__all__ and isinstance(value, type)]
    errors = [kind for kind in raised if issubclass(kind, BaseException)]
    assert len(errors) == 9 and all(issubclass(kind, epgt.EpgtError) for kind in errors)
    assert {kind.__module__ for kind in errors} == {"epgt"}


def test_the_command_is_the_program() -> None:
    ended = subprocess.run([COMMAND, "--version"], capture_output=True, text=True)
    assert ended.returncode == 0 and epgt.__version__ in ended.stdout
    refused = subprocess.run([COMMAND, "train", "CartPol-v1"], capture_output=True, text=True)
    assert refused.returncode == 1 and "did you mean 'CartPole-v1'?" in refused.stderr
    assert subprocess.run([COMMAND, "trian"], capture_output=True).returncode == 2


def test_ctrl_c_stops_the_command_which_saves_its_run(elsewhere: Path) -> None:
    arguments = ["train", "CartPole-v1", "--steps", "1e9", "--out", "run", "-q"]
    process = subprocess.Popen([COMMAND, *arguments], stderr=subprocess.PIPE, text=True)
    wait_for(elsewhere / "run" / "metrics.csv")
    said = interrupted(process)[1]
    assert process.returncode == 130 and "epgt train --resume run" in said
    assert (elsewhere / "run" / "checkpoint.bin").exists()


def test_ctrl_c_is_a_keyboard_interrupt_after_which_the_run_can_be_resumed(elsewhere: Path) -> None:
    # Whoever starts the tests in the background has Ctrl-C ignored, which is inherited.
    code = """
import epgt, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    epgt.train("CartPole-v1", steps=1e9, log_interval=10_000, directory="run", progress=True)
except KeyboardInterrupt:
    print("interrupted")
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for(elsewhere / "run" / "metrics.csv")
    said, told = interrupted(process)
    assert said == "interrupted\n" and "Stopped and saved in run" in told
    done = epgt.load("run")
    assert done.result is None and done.last_policy.task == "CartPole-v1"
    # Longer training of an unfinished run: it goes on, and the callback ends it.
    assert epgt.resume("run", callback=lambda row: False).result is None


def test_other_threads_run_while_the_package_trains(elsewhere: Path) -> None:
    counted, stop = 0, threading.Event()

    def count() -> None:
        nonlocal counted
        while not stop.is_set():
            counted += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    epgt.train("CartPole-v1", steps=100_000)
    stop.set()
    thread.join()
    assert counted > 10


def test_training_on_another_thread_than_the_main_one(elsewhere: Path) -> None:
    done: list[epgt.Run] = []
    thread = threading.Thread(target=lambda: done.append(epgt.train("CartPole-v1", steps=2000)))
    thread.start()
    thread.join()
    assert done[0].result is not None


def test_a_panic_is_an_exception() -> None:
    code = "import epgt\ntry:\n    epgt._epgt.fail('on purpose')\nexcept epgt.InternalError as error:\n    print(error)"
    assert python(code).stdout == "it ended by a fault of the program (on purpose); please report it\n"


def test_a_run_keeps_how_python_was_started(elsewhere: Path) -> None:
    code = "import epgt; epgt.train('CartPole-v1', steps=2000, directory='run')"
    Path("learn.py").write_text(code)
    subprocess.run([sys.executable, "learn.py", "--fast"], check=True)
    marker = json.loads(Path("run/epgt.json").read_text())
    assert marker["history"][0]["command"].endswith("learn.py --fast")
    assert marker["history"][0]["command"].startswith("python")


def interrupted(process: subprocess.Popen[str]) -> tuple[str, str]:
    """What a process says that is told to stop."""
    process.send_signal(signal.SIGINT)
    try:
        return process.communicate(timeout=30)
    finally:
        process.kill()


def wait_for(path: Path) -> None:
    for _ in range(600):
        if path.exists():
            time.sleep(0.3)
            return
        time.sleep(0.05)
    pytest.fail(f"{path} was never written")
