# Games of Atari's for the worker, which follows: what is needed beside ale-py's own vector environment.
#
# Tried out with ale-py 0.12.1: its `episodic_life` begins a whole new game at every lost life, and its `life_loss_info` ends
# games and lives with the same word and leaves their last observations unset. So both stay off; lives are counted here, and the
# game goes on after one is lost. Results are the same bytes for any number of its threads.


class Games:
    """N games, each begun anew when it is over and not before."""

    def __init__(self, rom, n, threads, episodic_life, fire_reset, **options):
        from ale_py.vector_env import AtariVectorEnv

        mode = gymnasium.vector.AutoresetMode.SAME_STEP
        self.envs = AtariVectorEnv(rom, n, num_threads=threads, autoreset_mode=mode, reward_clipping=False, use_fire_reset=fire_reset,
                                   **options)
        self.now, self.spec = None, None
        self.observation_space, self.action_space = self.envs.single_observation_space, self.envs.single_action_space
        self.episodic_life = episodic_life
        actions = [int(getattr(action, "value", action)) for action in self.envs.ale.get_action_set()]
        self.fire = actions.index(1) if fire_reset and 1 in actions else None

    def reset(self, seeds, leaves, arrays):
        # Its seeds are whole numbers of 31 bits.
        seeds = None if seeds is None else (seeds % 2**31).astype(np.int64)
        observations, infos = self.envs.reset(seed=seeds)
        self.lives, self.lost = infos["lives"], np.zeros(len(arrays.rewards), bool)
        for leaf in leaves:
            leaf.write_all(arrays.observations, observations)

    def step(self, actions, leaves, arrays):
        if self.fire is not None:
            # Some games wait for it with every life, and a policy that does not know that would wait with them.
            actions[self.lost] = self.fire
        observations, arrays.rewards[:], terminated, truncated, infos = self.envs.step(actions)
        over, lives = terminated | truncated, infos["lives"]
        # Some games show no lives for a while before they are over.
        self.lost, self.lives = ~over & (0 < lives) & (lives < self.lives), lives
        ends = self.lost & self.episodic_life
        arrays.terminated[:], arrays.truncated[:], arrays.episode_over[:] = terminated | ends, truncated, over
        for leaf in leaves:
            leaf.write_all(arrays.observations, observations)
            for i in np.flatnonzero(over):
                leaf.write(arrays.final_observations, i, infos["final_obs"][i])
            for i in np.flatnonzero(ends):
                leaf.write(arrays.final_observations, i, observations[i])

    def close(self):
        self.envs.close()


