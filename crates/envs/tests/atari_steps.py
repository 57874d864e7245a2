"""What ale-py itself does, for the tests of the Atari tasks to be held against.

`games ROM ..` prints the name of each game, with the indices of its actions and of all actions for those ROMs. `play ROM SEED N STICKY` reads rows of actions and prints a
line for the reset and for each step: the Adler-32 checksum of the observations, the rewards, and for every game whether a life was lost and
whether it is over. The rule that is the program's own is spelled out: FIRE is pressed in the step after a lost life.
"""

import sys
import zlib

import numpy as np
from ale_py import ALEInterface, LoggerMode, roms
from ale_py.vector_env import AtariVectorEnv
from gymnasium.vector import AutoresetMode


def games(*loaded):
    ALEInterface.setLoggerMode(LoggerMode.Error)
    for rom in sorted(set(roms.get_all_rom_ids()) - {"combat", "joust", "maze_craze", "warlords"}):
        sets = ()
        if rom in loaded:
            ale = ALEInterface()
            ale.loadROM(roms.get_rom_path(rom))
            sets = (ale.getMinimalActionSet(), ale.getLegalActionSet())
        print(rom.title().replace("_", ""), *(",".join(str(action.value) for action in actions) for actions in sets))


def play(rom, seed, n, sticky):
    n = int(n)
    envs = AtariVectorEnv(rom, n, repeat_action_probability=float(sticky), reward_clipping=False,
                          autoreset_mode=AutoresetMode.SAME_STEP, num_threads=1)
    fire = [int(action.value) for action in envs.ale.get_action_set()].index(1)
    observations, infos = envs.reset(seed=int(seed))
    print(zlib.adler32(observations.tobytes()))
    before, lost = infos["lives"], np.zeros(n, bool)
    for line in sys.stdin:
        actions = np.array(line.split(), np.int64)
        actions[lost] = fire
        observations, rewards, terminated, truncated, infos = envs.step(actions)
        over = terminated | truncated
        lost = ~over & (infos["lives"] > 0) & (infos["lives"] < before)
        before = infos["lives"]
        print(zlib.adler32(observations.tobytes()), *rewards, *lost.astype(int), *over.astype(int),
              *(zlib.adler32(infos["final_obs"][i].tobytes()) for i in np.flatnonzero(over)))


if __name__ == "__main__":
    {"games": games, "play": play}[sys.argv[1]](*sys.argv[2:])
