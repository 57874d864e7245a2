//! Writes a PNG of every task that has a picture, after some random steps: `cargo run --example pictures -- DIRECTORY
//! [STEPS]`.

use std::error::Error;
use std::path::PathBuf;

use epgt_envs::{make, tasks};
use epgt_render::{draw, fitting_size, png};
use epgt_rng::Pcg64;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = PathBuf::from(arguments.next().unwrap_or_else(|| ".".to_string()));
    let steps: u32 = arguments.next().map_or(Ok(20), |steps| steps.parse())?;
    for task in tasks() {
        let mut env = match make(&task.id) {
            Ok(env) => env,
            Err(error) => {
                println!("{}: {error}", task.id);
                continue;
            }
        };
        let mut observation = vec![0.0; env.observation_space().size()];
        let mut action = vec![0.0; env.action_space().size()];
        let mut rng = Pcg64::from_seed(1);
        env.reset(Some(1), &mut observation)?;
        for _ in 0..steps {
            env.action_space().sample(&mut rng, &mut action);
            let step = env.step(&action, &mut observation)?;
            if step.terminated || step.truncated {
                break;
            }
        }
        let Some(scene) = env.scene() else {
            println!("{}: no picture", task.id);
            continue;
        };
        let (width, height) = fitting_size(&scene, 600, 500);
        let path = directory.join(format!("{}.png", task.id));
        let start = std::time::Instant::now();
        let image = draw(&scene, width, height);
        let taken = start.elapsed();
        std::fs::write(&path, png(&image))?;
        println!("{}: {width} x {height} in {taken:.1?}", path.display());
    }
    Ok(())
}
