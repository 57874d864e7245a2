//! Environments of one's own: described, checked and stepped like those of the crate.

use epgt_envs::classic::{CartPole, Pendulum};
use epgt_envs::{
    Env, EnvError, OptionValue, RowShape, Space, Step, StepRow, TaskOption, TaskSpec, VecEnv, check, decode_state,
    encode_state, find,
};
use epgt_rng::Pcg64;

/// Two dice that are thrown again at every step; a guess of both earns 1.
struct Dice {
    observed: Space,
    guessed: Space,
    rng: Pcg64,
    sides: u64,
}

impl Dice {
    fn new(sides: usize) -> Self {
        Dice {
            observed: Space::MultiDiscrete(vec![sides; 2]),
            guessed: Space::MultiDiscrete(vec![sides; 2]),
            rng: Pcg64::from_seed(0),
            sides: sides as u64,
        }
    }

    fn throw(&mut self, observation: &mut [f32]) {
        observation.fill_with(|| self.rng.below(self.sides) as f32);
    }
}

impl Env for Dice {
    fn observation_space(&self) -> &Space {
        &self.observed
    }

    fn action_space(&self) -> &Space {
        &self.guessed
    }

    fn reset(&mut self, seed: Option<u64>, observation: &mut [f32]) -> Result<(), EnvError> {
        if let Some(seed) = seed {
            self.rng = Pcg64::from_seed(seed);
        }
        self.throw(observation);
        Ok(())
    }

    fn step(&mut self, action: &[f32], observation: &mut [f32]) -> Result<Step, EnvError> {
        self.guessed.check_action(action)?;
        self.throw(observation);
        Ok(Step {
            reward: f64::from(u8::from(action == observation)),
            terminated: false,
            truncated: false,
        })
    }

    fn save(&self) -> Vec<u8> {
        encode_state(&self.rng)
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), EnvError> {
        self.rng = decode_state(state)?;
        Ok(())
    }
}

/// Steps environments with one action for all; the rewards of each step.
fn rewards(envs: &mut VecEnv, action: &[f32], steps: usize) -> Vec<Vec<f32>> {
    let n = envs.n();
    let mut observations = vec![0.0; n * envs.observation_space().size()];
    envs.reset(&mut observations).unwrap();
    let step = |_| {
        let mut rewards = vec![0.0; n];
        let out = StepRow {
            observations: (&mut observations[..]).into(),
            rewards: &mut rewards,
            terminated: &mut vec![false; n],
            truncated: &mut vec![false; n],
        };
        envs.step(&action.repeat(n), out).unwrap();
        rewards
    };
    (0..steps).map(step).collect()
}

#[test]
fn a_task_of_ones_own_is_described_by_its_spaces() {
    let task = TaskSpec::new("Dice-v0", || Dice::new(3))
        .with_summary("Guess two dice.")
        .with_reward("1 for a right guess.")
        .with_max_episode_steps(10)
        .with_reward_threshold(2.0);
    check(&mut *task.make().unwrap()).unwrap();
    let names = |entries: &[epgt_envs::Entry]| entries.iter().map(|entry| entry.name.to_string()).collect::<Vec<_>>();
    assert_eq!(names(&task.observation), ["observation 0", "observation 1"]);
    assert_eq!((task.observation[1].low, task.observation[1].high), (0.0, 2.0));
    assert_eq!(names(&task.action)[2..4], ["number 0 is 2", "number 1 is 0"]);
    assert_eq!(
        (&*task.id, &*task.summary, &*task.reward),
        ("Dice-v0", "Guess two dice.", "1 for a right guess.")
    );
    assert_eq!((task.max_episode_steps, task.reward_threshold), (10, Some(2.0)));
    assert_eq!((task.observed(), task.is_foreign()), (RowShape::Numbers(2), false));
    let cart = TaskSpec::new("Cart-v0", CartPole::new);
    assert_eq!(
        (names(&cart.action), cart.max_episode_steps),
        (vec!["choice 0".into(), "choice 1".into()], u32::MAX)
    );
    let pendulum = TaskSpec::new("Swing-v0", Pendulum::new);
    assert_eq!(
        (names(&pendulum.action), pendulum.action[0].low),
        (vec!["action 0".into()], -2.0)
    );
    let image = TaskSpec::new("Catch-v0", epgt_envs::pixels::Catch::new);
    assert_eq!((image.image, image.observation.len()), (Some([1, 36, 36]), 0));
}

#[test]
fn options_of_ones_own_are_checked_and_reach_the_environment() {
    let sides = TaskOption::new("sides", OptionValue::Count(6), "Sides of each die");
    let dice = TaskSpec::configurable("Dice-v0", [sides], |options| {
        Ok(Box::new(Dice::new(options.count("sides"))))
    });
    let dice = dice.unwrap();
    assert_eq!(dice.action.len(), 12);
    let coins = dice.with([("sides", "2")]).unwrap();
    assert_eq!(
        (coins.action.len(), coins.label()),
        (4, "Dice-v0 (sides = 2)".to_string())
    );
    assert_eq!(coins.make().unwrap().action_space(), &Space::MultiDiscrete(vec![2, 2]));
    let refused = dice.with([("side", "2")]).unwrap_err().to_string();
    assert_eq!(refused, "unknown option of Dice-v0 'side'; did you mean 'sides'?");
    let missing = || TaskSpec::configurable("Lost-v0", [], |_| Err(EnvError::MissingSimulator("no dice".into())));
    assert_eq!(missing().unwrap_err().to_string(), "no dice");
}

#[test]
fn given_environments_are_stepped_as_those_of_a_task() {
    let task = TaskSpec::new("Dice-v0", || Dice::new(2)).with_max_episode_steps(7);
    let given: Vec<Box<dyn Env>> = (0..3).map(|_| Box::new(Dice::new(2)) as Box<dyn Env>).collect();
    let mut given = VecEnv::from_envs(given, 7, 5).unwrap();
    let mut made = VecEnv::new(&task, 3, 5).unwrap();
    let earned = rewards(&mut given, &[1.0, 1.0], 21);
    assert_eq!(earned, rewards(&mut made, &[1.0, 1.0], 21));
    assert!(earned.iter().flatten().any(|&reward| reward == 1.0));
    assert_eq!(given.finished(), made.finished());
    assert_eq!((given.finished().len(), given.finished()[2].length), (3, 7));
    let saved = given.save();
    assert_eq!(given.restore(&saved), Ok(()));
    let other = VecEnv::new(&task, 3, 5)
        .unwrap()
        .restore(&saved)
        .unwrap_err()
        .to_string();
    assert!(
        other.starts_with("the saved state is of 3 environments of an unnamed task, not 3 of Dice-v0"),
        "{other}"
    );
}

#[test]
fn environments_that_cannot_be_stepped_together_are_refused() {
    let refused = |envs: Vec<Box<dyn Env>>, steps| VecEnv::from_envs(envs, steps, 0).err().unwrap().to_string();
    let none = "there are 0 environments; at least one is needed";
    assert_eq!(refused(Vec::new(), 10), none);
    assert_eq!(
        VecEnv::new(&find("CartPole-v1").unwrap(), 0, 0)
            .err()
            .unwrap()
            .to_string(),
        none
    );
    assert_eq!(
        VecEnv::new(&find("gym:CartPole-v1").unwrap(), 0, 0)
            .err()
            .unwrap()
            .to_string(),
        none
    );
    assert_eq!(
        refused(
            vec![Box::new(Dice::new(2)), Box::new(Dice::new(2)), Box::new(Dice::new(3))],
            10
        ),
        "environment 2 has other spaces than environment 0; step environments together that observe and do the same"
    );
    assert_eq!(
        refused(vec![Box::new(Dice::new(2))], 0),
        "episodes have 0 steps; at least one is needed"
    );
    let senseless = refused(vec![Box::new(Dice::new(0))], 10);
    assert!(
        senseless.starts_with("the observation space MultiDiscrete([0, 0]) is empty"),
        "{senseless}"
    );
}

#[test]
fn actions_that_cannot_be_carried_out_are_refused() {
    let refused = |space: &Space, action: &[f32]| space.check_action(action).unwrap_err().to_string();
    let dice = Space::MultiDiscrete(vec![2, 3]);
    assert_eq!(dice.check_action(&[1.0, 2.0]), Ok(()));
    assert_eq!(
        refused(&dice, &[1.0, 3.0]),
        "the action is 3, but this task takes the whole numbers 0 to 2"
    );
    assert_eq!(refused(&dice, &[1.0]), "the action has 1 number, but this task takes 2");
    let torque = Space::Box {
        low: vec![-1.0],
        high: vec![1.0],
    };
    assert_eq!(torque.check_action(&[7.0]), Ok(()));
    assert!(refused(&torque, &[f32::NAN]).starts_with("entry 0 of the action is NaN"));
}
