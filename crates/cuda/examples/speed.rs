//! Trains the paper's image network on a GPU and tells how fast: `speed [BATCH]`. Beside it PyTorch in the same way: speed.py.

use epgt_cuda::{Adam, Device, ImageNet, NetShape};
use std::time::Instant;

fn main() -> Result<(), String> {
    let batch: usize = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(2048);
    let device = Device::find()?;
    println!("{}", device.name());
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
    let rows: Vec<i32> = (0..batch as i32).collect();
    let policy: Vec<f32> = (0..batch * 6).map(|_| (random() - 0.5) / batch as f32).collect();
    let value: Vec<f32> = (0..batch).map(|_| (random() - 0.5) / batch as f32).collect();
    for tf32 in [false, true] {
        device.allow_tf32(tf32)?;
        let mut net = ImageNet::new(&device, shape.clone(), &weights)?;
        let mut adam = Adam::new(&device, &net)?;
        let there = net.upload(&device, &images)?;
        let mut best = f64::INFINITY;
        for _ in 0..10 {
            device.wait()?;
            let start = Instant::now();
            for _ in 0..10 {
                net.forward(&device, &there, &rows)?;
                net.backward(&device, &[&policy, &value])?;
                adam.step(&device, &mut net, 2.5e-4, 0.5)?;
            }
            device.wait()?;
            best = best.min(start.elapsed().as_secs_f64() / 10.0);
        }
        println!(
            "tf32 {tf32}: train {batch}: {:.3} ms, {:.0} images/s",
            best * 1e3,
            batch as f64 / best
        );

        let few = &images[..40 * shape.image_size()];
        let (mut logits, mut best) = (vec![0.0; 240], f64::INFINITY);
        for _ in 0..50 {
            let start = Instant::now();
            let there = net.upload(&device, few)?;
            net.forward(&device, &there, &rows[..40])?;
            net.read(&device, 0, &mut logits)?;
            best = best.min(start.elapsed().as_secs_f64());
        }
        println!("tf32 {tf32}: act 40: {:.3} ms", best * 1e3);
    }
    Ok(())
}
