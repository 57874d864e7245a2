//! Trains the paper's image network on a GPU and tells how fast: `cargo bench -p epgt-cuda --bench speed -- [BATCH]`.
//! Beside it PyTorch in the same way: speed.py.

use std::time::Instant;

use epgt_cuda::{Gpu, NetShape};
use epgt_nn::{Adam, Buffer, Optimiser, Remote};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let batch: usize = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(2048);
    let shape = NetShape::paper(6);
    let mut state = 1u64;
    let mut random = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 40) as f32 / (1u64 << 24) as f32
    };
    let weights: Vec<f32> = (0..shape.parameters()).map(|_| (random() - 0.5) * 0.05).collect();
    let images: Vec<u8> = (0..batch * shape.image_size())
        .map(|_| (random() * 255.0) as u8)
        .collect();
    let rows: Vec<u32> = (0..batch as u32).collect();
    let policy: Vec<f32> = (0..batch * 6).map(|_| (random() - 0.5) / batch as f32).collect();
    let value: Vec<f32> = (0..batch).map(|_| (random() - 0.5) / batch as f32).collect();
    for tf32 in [false, true] {
        let mut gpu = Gpu::open(shape.clone(), tf32)?;
        gpu.write(Buffer::Weights, &weights);
        let mut adam = Adam::new(weights.len(), 0.9, 0.999, 1e-5);
        gpu.forward(&images, batch);
        gpu.keep(0);
        let (mut logits, mut values) = (vec![0.0; batch * 6], vec![0.0; batch]);
        let mut best = f64::INFINITY;
        for _ in 0..10 {
            gpu.wait();
            let start = Instant::now();
            for _ in 0..10 {
                gpu.forward_cached(&rows);
                gpu.read_outputs(0, &mut logits);
                gpu.read_outputs(1, &mut values);
                gpu.backward(&[&policy, &value], &[]);
                gpu.clip(0.5);
                adam.step_remote(gpu.optimiser(), &2.5e-4.into());
            }
            gpu.wait();
            best = best.min(start.elapsed().as_secs_f64() / 10.0);
        }
        println!(
            "{}, tf32 {tf32}: train {batch}: {:.3} ms, {:.0} images/s",
            gpu.name(),
            best * 1e3,
            batch as f64 / best
        );

        let few = &images[..40 * shape.image_size()];
        let mut best = f64::INFINITY;
        for _ in 0..50 {
            let start = Instant::now();
            gpu.forward(few, 40);
            gpu.read_outputs(0, &mut logits[..240]);
            gpu.read_outputs(1, &mut values[..40]);
            best = best.min(start.elapsed().as_secs_f64());
        }
        println!("tf32 {tf32}: act 40: {:.3} ms", best * 1e3);
        gpu.fault().map_or(Ok(()), Err)?;
    }
    Ok(())
}
