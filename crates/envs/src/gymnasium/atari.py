# Games of Atari's for the worker, which follows: what is needed beside ale-py's own vector environment.
#
# Tried out with ale-py 0.12.1: its `episodic_life` begins a whole new game at every lost life, and its `life_loss_info` ends
# games and lives with the same word and leaves their last observations unset. So both stay off; lives are counted here, and the
# game goes on after one is lost. Results are the same bytes for any number of its threads.


class Games:
    """N games, each begun anew when it is over and not before."""

    def __init__(self, rom, n, threads, film, episodic_life, fire_reset, **options):
        from ale_py.vector_env import AtariVectorEnv

        mode = gymnasium.vector.AutoresetMode.SAME_STEP
        options |= dict(num_threads=threads, autoreset_mode=mode, reward_clipping=False, use_fire_reset=fire_reset)
        self.envs = AtariVectorEnv(rom, n, **options)
        # What is filmed is a second set of the same games, which get the same seeds and actions and show the console's own screen.
        self.screens = AtariVectorEnv(rom, n, **options, grayscale=False, img_height=210, img_width=160, stack_num=1) if film else None
        self.now, self.spec = None, None
        self.observation_space, self.action_space = self.envs.single_observation_space, self.envs.single_action_space
        self.episodic_life = episodic_life
        actions = [int(getattr(action, "value", action)) for action in self.envs.ale.get_action_set()]
        self.fire = actions.index(1) if fire_reset and 1 in actions else None

    def reset(self, seeds, leaves, arrays):
        # Its seeds are whole numbers of 31 bits.
        seeds = None if seeds is None else (seeds % 2**31).astype(np.int64)
        observations, infos = self.envs.reset(seed=seeds)
        if self.screens is not None:
            self.screen = self.screens.reset(seed=seeds)[0][0, 0]
        self.lives, self.lost = infos["lives"], np.zeros(len(arrays.rewards), bool)
        for leaf in leaves:
            leaf.write_all(arrays.observations, observations)

    def step(self, actions, leaves, arrays):
        if self.fire is not None:
            # Some games wait for it with every life, and a policy that does not know that would wait with them.
            actions[self.lost] = self.fire
        observations, arrays.rewards[:], terminated, truncated, infos = self.envs.step(actions)
        over, lives = terminated | truncated, infos["lives"]
        if self.screens is not None:
            self.film(actions, arrays.rewards, over, lives)
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

    def film(self, actions, *known):
        screens, rewards, terminated, truncated, infos = self.screens.step(actions)
        over = terminated | truncated
        if any((one != other).any() for one, other in zip(known, (rewards, over, infos["lives"]))):
            raise Refused("went another way on the screen that is filmed than in the game that is played")
        self.screen, self.last = screens[0, 0], infos["final_obs"][0][0] if over[0] else None

    def look(self):
        return self.screen

    def look_back(self):
        return self.last

    def fps(self):
        # The console shows 60 frames a second, and an action is held for four.
        return 15

    def close(self):
        self.envs.close()


