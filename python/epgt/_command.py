"""The command `epgt`."""

import signal
import sys

from . import _epgt


def main() -> None:
    """Runs the program with the arguments of this process and exits with its status."""
    # Ctrl-C is the program's own: Python's answer to it would wait until the program has ended.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_epgt.command(sys.argv))
