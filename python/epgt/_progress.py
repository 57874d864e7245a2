"""How a training goes, on one line that is written over: plain text, in a terminal and in a notebook."""

from __future__ import annotations

from typing import Any, TextIO

WIDTH = 24


def duration(seconds: float) -> str:
    """Seconds as minutes or hours where they are many."""
    seconds = int(min(max(seconds, 0.0), 360_000_000.0))
    hours, minutes = seconds // 3600, seconds // 60 % 60
    return f"{hours}:{minutes:02}:{seconds % 60:02}" if hours else f"{minutes}:{seconds % 60:02}"


def line(progress: list[dict[str, Any]]) -> str:
    """One line on all runs together: how far they are, how fast, and what they have reached."""
    steps, total = (sum(run[key] for run in progress) for key in ("steps", "total_steps"))
    share = min(steps / max(total, 1), 1.0)
    speed = sum(run["steps_per_second"] for run in progress)
    parts = [f"{share:4.0%} {'#' * int(share * WIDTH):.<{WIDTH}} {steps:,}/{total:,} steps, {speed:,.0f}/s"]
    if 0 < share < 1 and speed > 0:
        parts.append(f"{duration((total - steps) / speed)} left")
    for key, name in (("mean_return", "return"), ("best_evaluation", "best")):
        known = [run[key] for run in progress if run[key] is not None]
        if known:
            parts.append(f"{name} {sum(known) / len(known):.1f}")
    return ", ".join(parts)


class Line:
    """Writes the line anew whenever it has changed, and below it what the user should be told once."""

    def __init__(self, runs: int, stream: TextIO) -> None:
        self._stream = stream
        self._progress: list[dict[str, Any] | None] = [None] * runs
        self._written = ""

    def update(self, run: int, progress: dict[str, Any]) -> None:
        for note in progress["notes"]:
            self._write(note + "\n")
            self._written = ""
        self._progress[run] = progress
        now = line([progress for progress in self._progress if progress is not None])
        if now != self._written:
            self._write(now)
            self._written = now

    def _write(self, text: str) -> None:
        # A shorter text must not leave the end of a longer one behind.
        padding = " " * max(len(self._written) - len(text.rstrip("\n")), 0)
        newline = "\n" if text.endswith("\n") else ""
        self._stream.write("\r" + text.rstrip("\n") + padding + newline)
        self._stream.flush()

    def close(self) -> None:
        if self._written:
            self._stream.write("\n")
            self._stream.flush()


def is_watched(stream: TextIO) -> bool:
    """Whether somebody looks at what is written: a terminal does, and a notebook."""
    return stream.isatty() or type(stream).__module__.startswith("ipykernel.")
