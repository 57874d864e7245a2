//! Tasks whose observations are images, alone and side by side, as bytes and as numbers.

use epgt_envs::{Env, Observations, RowShape, StepRow, VecEnv, check, find, make};

const SIZE: usize = 36 * 36;

fn step(envs: &mut VecEnv, actions: &[f32], images: &mut Observations) -> Vec<f32> {
    let n = envs.n();
    let (mut rewards, mut terminated, mut truncated) = (vec![0.0; n], vec![false; n], vec![false; n]);
    let out = StepRow {
        observations: images.into(),
        rewards: &mut rewards,
        terminated: &mut terminated,
        truncated: &mut truncated,
    };
    envs.step(actions, out).unwrap();
    rewards
}

#[test]
fn the_task_keeps_the_promises_of_every_environment() {
    check(&mut *make("PixelCatch-v0").unwrap()).unwrap();
}

#[test]
fn environments_side_by_side_show_what_each_shows_alone_on_any_number_of_threads() {
    let task = find("PixelCatch-v0").unwrap();
    for threads in [1, 2] {
        let mut envs = VecEnv::new(&task, 3, 5).unwrap().on_threads(threads);
        let mut images = Observations::new(task.observed(), 3);
        envs.reset(&mut images).unwrap();
        let mut alone: Vec<Box<dyn Env>> = (0..3).map(|_| task.make().unwrap()).collect();
        for (i, env) in alone.iter_mut().enumerate() {
            env.reset(Some(5 + i as u64), &mut []).unwrap();
        }
        let mut pixels = [0; SIZE];
        for t in 0..20 {
            let actions = [0, 1, 2].map(|i| ((t + i) % 3) as f32);
            step(&mut envs, &actions, &mut images);
            for (i, env) in alone.iter_mut().enumerate() {
                let ended = env.step(&actions[i..=i], &mut []).unwrap().terminated;
                env.image(&mut pixels);
                if ended {
                    assert_eq!(envs.final_observation(i).bytes(), pixels);
                    env.reset(None, &mut []).unwrap();
                    env.image(&mut pixels);
                }
                assert_eq!(images.part(i * SIZE..(i + 1) * SIZE).bytes(), pixels, "step {t}");
            }
        }
        let saved = envs.save();
        let mut other = VecEnv::new(&task, 3, 0).unwrap();
        other.restore(&saved).unwrap();
        let mut others = Observations::new(task.observed(), 3);
        step(&mut envs, &[1.0; 3], &mut images);
        step(&mut other, &[1.0; 3], &mut others);
        assert_eq!(images, others);
    }
}

#[test]
fn a_paddle_that_follows_the_ball_always_catches_it() {
    let mut env = make("PixelCatch-v0").unwrap();
    let mut numbers = vec![0.0; RowShape::from(env.observation_space()).size()];
    for seed in 0..20 {
        env.reset(Some(seed), &mut numbers).unwrap();
        loop {
            let lit = |row: &[f32]| row.iter().position(|&x| x == 255.0);
            let ball = numbers.chunks_exact(36).find_map(lit).unwrap();
            let paddle = lit(&numbers[35 * 36..]).unwrap();
            let action = (1 + (ball > paddle) as u8 - (ball < paddle) as u8) as f32;
            let step = env.step(&[action], &mut numbers).unwrap();
            if step.terminated {
                assert_eq!(step.reward, 1.0, "seed {seed}");
                break;
            }
            assert_eq!(step.reward, 0.0);
        }
    }
}
