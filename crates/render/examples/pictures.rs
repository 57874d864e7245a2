//! Writes a PNG of every task that has a picture, after some random steps, and says how long one takes to draw: `cargo
//! run --example pictures -- DIRECTORY [STEPS]`.

use std::error::Error;
use std::path::PathBuf;

use epgt_envs::{make, tasks};
use epgt_render::{draw_picture, picture_size, png};
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
        let Some(picture) = env.picture()? else {
            println!("{}: no picture", task.id);
            continue;
        };
        let (width, height) = picture_size(&picture, 480, 400);
        let path = directory.join(format!("{}.png", task.id));
        let image = draw_picture(&picture, width, height);
        // The fastest, because other work on the machine makes some of them slow.
        let taken = [(); 31].map(|()| {
            let start = std::time::Instant::now();
            std::hint::black_box(draw_picture(&picture, width, height));
            start.elapsed()
        });
        std::fs::write(&path, png(&image))?;
        let fastest = taken.iter().min().copied().unwrap_or_default();
        println!("{}: {width} x {height} in {fastest:.1?}", path.display());
    }
    Ok(())
}
