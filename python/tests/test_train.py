"""Training, and reading what runs say."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from conftest import COMMAND, needs

import epgt
from epgt._progress import Line, line


def test_the_same_policy_as_the_program_makes(elsewhere: Path) -> None:
    arguments = "train CartPole-v1 --algo ppo --steps 8192 --seed 3 --json -q"
    arguments += " --set ppo.gamma=0.97 --tune learning_rate=1e-4:1e-3"
    ended = subprocess.run([COMMAND, *arguments.split()], capture_output=True, text=True, check=True)
    run = epgt.train(
        "CartPole-v1",
        algo="ppo",
        steps=8192,
        seed=3,
        tune={"learning_rate": [1e-4, 1e-3]},
        settings={"ppo.gamma": 0.97},
        directory="run",
    )
    assert run.result is not None
    assert run.result["policy_sha256"] == json.loads(ended.stdout)["policy_sha256"]
    assert run.last_policy.sha256 == run.result["policy_sha256"]


def test_a_setting_is_a_keyword_a_section_or_an_entry(elsewhere: Path) -> None:
    by_keyword = epgt.train("CartPole-v1", algo="ppo", steps=4096, gamma=0.9, n_envs=4, log_interval=None)
    by_section = epgt.train("CartPole-v1", algo="ppo", steps=4096, ppo={"gamma": np.float64(0.9)}, n_envs=np.int64(4))
    by_entry = epgt.train("CartPole-v1", algo="ppo", settings={"steps": 4096.0, "ppo.gamma": 0.9, "n_envs": 4})
    assert by_keyword.config == by_section.config == by_entry.config
    assert "gamma = 0.9\n" in by_entry.config


def test_lists_and_options_of_the_task_are_settings(elsewhere: Path) -> None:
    run = epgt.train("Pendulum-v1", steps=2000, policy={"hidden": [8, 4]}, env={"g": 9.81})
    assert run.policy.task == "Pendulum-v1 (g = 9.81)"
    assert run.policy.state_dict()["policy.1.weight"].shape == (4, 8)


def test_a_run_without_a_directory_is_kept_below_runs(elsewhere: Path) -> None:
    first, second = (epgt.train("CartPole-v1", algo="a2c", scheduler="random", steps=2000) for _ in range(2))
    assert first.directory == Path("runs/CartPole-v1-a2c-random-s0")
    assert second.directory == Path("runs/CartPole-v1-a2c-random-s0-2")


def test_metrics_and_decisions_are_columns(cart: epgt.Run) -> None:
    metrics, decisions = cart.metrics, cart.decisions
    assert metrics["time/total_timesteps"][-1] == 8192
    assert {len(column) for column in metrics.values()} == {len(metrics["time/total_timesteps"])}
    assert metrics["rollout/ep_rew_mean"].dtype == np.float64
    assert np.isfinite(decisions["learning_rate"]).all()
    assert set(decisions["choice"]) <= {"random", "greedy", "own", "fixed"}


@needs("pandas")
def test_metrics_are_a_frame_where_pandas_is(cart: epgt.Run) -> None:
    assert list(cart.metrics_frame()["time/total_timesteps"]) == list(cart.metrics["time/total_timesteps"])
    assert len(cart.decisions_frame()) == len(cart.decisions["choice"])


def test_a_frame_without_pandas_is_refused_in_a_sentence(cart: epgt.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(epgt.MissingPackage, match="a DataFrame needs the package pandas: pip install pandas"):
        cart.metrics_frame()


def test_the_callback_sees_every_row_on_the_thread_that_called(elsewhere: Path) -> None:
    import threading

    rows: list[dict[str, float]] = []
    threads = set()

    def watch(row: dict[str, float]) -> None:
        rows.append(row)
        threads.add(threading.current_thread())

    run = epgt.train("CartPole-v1", algo="ppo", steps=8192, seed=5, callback=watch)
    assert [row["time/total_timesteps"] for row in rows] == list(run.metrics["time/total_timesteps"])
    assert all(row["seed"] == 5 for row in rows) and threads == {threading.current_thread()}


def test_a_callback_that_returns_false_stops_the_run_where_it_says_so(elsewhere: Path) -> None:
    def enough(row: dict[str, float]) -> bool:
        return row["time/total_timesteps"] < 4000

    stopped = [epgt.train("CartPole-v1", algo="ppo", steps=50_000, callback=enough) for _ in range(2)]
    assert stopped[0].result is None
    assert [list(run.metrics["time/total_timesteps"]) for run in stopped] == [
        list(stopped[0].metrics["time/total_timesteps"])
    ] * 2
    whole = epgt.train("CartPole-v1", algo="ppo", steps=50_000)
    resumed = stopped[0].resume()
    assert resumed.result is not None and whole.result is not None
    assert resumed.result["policy_sha256"] == whole.result["policy_sha256"]


def test_an_exception_of_the_callback_is_raised_and_the_run_is_saved(elsewhere: Path) -> None:
    def fail(row: dict[str, float]) -> None:
        raise LookupError("no more")

    with pytest.raises(LookupError, match="no more"):
        epgt.train("CartPole-v1", steps=50_000, callback=fail, directory="run")
    assert epgt.load("run").last_policy.task == "CartPole-v1"
    with pytest.raises(epgt.InputError, match="callback is of type int"):
        epgt.train("CartPole-v1", callback=3)


def test_a_finished_run_is_trained_longer(elsewhere: Path) -> None:
    run = epgt.train("CartPole-v1", algo="ppo", steps=4096, directory="run")
    again = epgt.resume("run")
    assert again.result == run.result
    longer = run.resume(steps=8192)
    assert longer.result is not None and longer.result["steps"] == 8192
    with pytest.raises(epgt.ConfigError, match="8192 steps are done already"):
        epgt.resume("run", steps=4096)


def test_several_seeds_are_several_runs(elsewhere: Path) -> None:
    seen = set()
    runs = epgt.train(
        "CartPole-v1",
        algo="ppo",
        steps=4096,
        seed=7,
        seeds=3,
        directory="three",
        callback=lambda row: seen.add(row["seed"]),
    )
    assert [run.directory for run in runs] == [Path(f"three/seed-{seed}") for seed in (7, 8, 9)]
    assert seen == {7.0, 8.0, 9.0}
    alone = epgt.train("CartPole-v1", algo="ppo", steps=4096, seed=8)
    assert runs[1].result is not None and alone.result is not None
    assert runs[1].result["policy_sha256"] == alone.result["policy_sha256"]
    assert [run.result for run in epgt.load_seeds("three")] == [run.result for run in runs]
    longer = epgt.resume_seeds("three", steps=8192)
    assert [run.result["steps"] for run in longer if run.result is not None] == [8192] * 3
    with pytest.raises(epgt.RunError, match="three holds several seeds; .* load_seeds"):
        epgt.load("three")
    with pytest.raises(epgt.RunError, match="does not hold several seeds"):
        epgt.resume_seeds(alone.directory)


def test_a_run_starts_from_a_policy_with_its_networks(elsewhere: Path) -> None:
    first = epgt.train("CartPole-v1", algo="ppo", steps=4096, policy={"hidden": [8]}, directory="first")
    second = epgt.train("CartPole-v1", algo="ppo", steps=4096, init="first", directory="second")
    assert second.policy.state_dict()["policy.0.weight"].shape == first.policy.state_dict()["policy.0.weight"].shape
    assert f'init = "{(elsewhere / "first").resolve()}"' in second.config
    with pytest.raises(epgt.PolicyError, match="cannot read"):
        epgt.train("CartPole-v1", init=Path("nowhere"))


def test_evaluate_plays_seeded_episodes(cart: epgt.Run) -> None:
    played = cart.evaluate(5, seed=3)
    assert len(played.returns) == 5 and played.cut == 0
    assert list(played.returns) == list(cart.policy.evaluate(5, seed=3).returns)
    assert played.mean_return == pytest.approx(np.mean(played.returns))
    assert list(played.lengths) == list(played.returns)
    cut = cart.evaluate(2, max_steps=5)
    assert (cut.cut, list(cut.lengths)) == (2, [5, 5])
    with pytest.raises(epgt.InputError, match="episodes=0 cannot be used"):
        cart.evaluate(0)


def test_what_cannot_be_trained_is_refused_in_the_programs_sentences(elsewhere: Path) -> None:
    def refused(kind: type[Exception], *args: object, **settings: object) -> str:
        with pytest.raises(kind) as caught:
            epgt.train(*args, **settings)
        assert isinstance(caught.value, epgt.EpgtError)
        return str(caught.value)

    assert refused(epgt.ConfigError, "CartPol-v1") == "unknown task 'CartPol-v1'; did you mean 'CartPole-v1'?"
    assert refused(ValueError, "CartPole-v1", gama=0.9) == "unknown setting 'gama'; did you mean 'a2c.gamma'?"
    assert "at least one environment" in refused(epgt.ConfigError, "CartPole-v1", n_envs=0)
    assert "steps is said twice" in refused(epgt.ConfigError, "CartPole-v1", steps=2000, settings={"run.steps": 3000})
    assert "gamma = NaN cannot be used" in refused(epgt.ConfigError, "CartPole-v1", gamma=float("nan"))
    assert "steps is of type object" in refused(epgt.ConfigError, "CartPole-v1", steps=object())
    assert "names of settings are texts" in refused(epgt.ConfigError, "CartPole-v1", settings={3: 4})
    assert "seeds=0 cannot be used" in refused(epgt.InputError, "CartPole-v1", seeds=0)
    assert not list(elsewhere.iterdir())


def test_a_directory_that_is_taken_is_refused_until_it_may_be_replaced(elsewhere: Path) -> None:
    for _ in range(2):
        epgt.train("CartPole-v1", steps=2000, directory="run", overwrite=True)
    with pytest.raises(epgt.RunError, match="run already holds a run; .*overwrite=True"):
        epgt.train("CartPole-v1", steps=2000, directory="run")
    Path("mine").mkdir()
    Path("mine/thesis.tex").write_text("years of work")
    with pytest.raises(epgt.RunError, match="files that this program did not make"):
        epgt.train("CartPole-v1", steps=2000, directory="mine", overwrite=True)
    with pytest.raises(epgt.RunError, match="mine is not a run directory"):
        epgt.load("mine")


def test_a_damaged_file_of_a_run_is_told(elsewhere: Path) -> None:
    run = epgt.train("CartPole-v1", steps=2000, directory="run")
    for name, read in [("result.json", lambda: run.result), ("metrics.csv", lambda: run.metrics)]:
        Path("run", name).write_text("{ no ,\n1,2,3\n")
        with pytest.raises(epgt.RunError, match=name):
            read()
    Path("run/best.safetensors").unlink()
    with pytest.raises(epgt.EpgtError, match="best.safetensors is missing|result of a run"):
        run.policy.predict([0.0] * 4)


def test_the_line_of_progress_is_written_over_and_ends_with_a_newline() -> None:
    told = {
        "steps": 500,
        "total_steps": 2000,
        "steps_per_second": 250.0,
        "mean_return": 21.25,
        "best_evaluation": None,
        "notes": [],
    }
    assert line([told]) == " 25% ######.................. 500/2,000 steps, 250/s, 0:06 left, return 21.2"
    stream = io.StringIO()
    shown = Line(2, stream)
    shown.update(0, told)
    shown.update(1, told | {"steps": 2000, "notes": ["A note."]})
    shown.close()
    assert stream.getvalue().count("\r") == 3 and stream.getvalue().endswith("\n")
    assert "\rA note." in stream.getvalue()


def test_progress_goes_to_stderr_when_it_is_wanted(
    elsewhere: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Others import it too where there is no notebook.
    monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))
    epgt.train("CartPole-v1", steps=2000)
    assert capsys.readouterr().err == ""
    epgt.train("CartPole-v1", steps=2000, progress=True)
    assert "100%" in capsys.readouterr().err
