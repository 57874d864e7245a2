//! The image network written out in double precision, and the same one on a GPU.

use epgt_cuda::{ConvShape, Gpu, NetShape};
use epgt_nn::{Buffer, Remote};

/// Numbers from 0 to 1 that are the same every time.
pub fn numbers(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 40) as f64 / (1u64 << 24) as f64
    }
}

/// A network, its weights and some images.
pub struct Plain {
    pub shape: NetShape,
    pub weights: Vec<f64>,
    pub images: Vec<u8>,
}

impl Plain {
    /// Outputs of both heads, and the gradient of sum(outputs * factors), for some of the images.
    pub fn run(&self, rows: &[u32], factors: &[Vec<f32>]) -> (Vec<Vec<f64>>, Vec<f64>) {
        let mut gradient = vec![0.0; self.weights.len()];
        let mut outputs = vec![Vec::new(); self.shape.heads.len()];
        for (i, &row) in rows.iter().enumerate() {
            let of_image: Vec<Vec<f64>> = factors
                .iter()
                .zip(&self.shape.heads)
                .map(|(factors, &n)| factors[i * n..][..n].iter().map(|&x| f64::from(x)).collect())
                .collect();
            let made = self.image(row as usize, &of_image, &mut gradient);
            outputs.iter_mut().zip(made).for_each(|(all, one)| all.extend(one));
        }
        (outputs, gradient)
    }

    /// One image, forward and backward. Values are kept channels last; the first window reads channels first.
    fn image(&self, row: usize, factors: &[Vec<f64>], gradient: &mut [f64]) -> Vec<Vec<f64>> {
        let [planes, height, width] = self.shape.image;
        let pixels = &self.images[row * planes * height * width..][..planes * height * width];
        // Each layer as (inputs' places of every row of its matrix, start of its tensors, rows, outputs), and its
        // values.
        let mut values: Vec<Vec<f64>> = vec![pixels.iter().map(|&p| f64::from(p) / 255.0).collect()];
        let mut layers: Vec<(Vec<Vec<usize>>, usize, usize)> = Vec::new();
        let (mut h, mut w, mut depth, mut start) = (height, width, planes, 0);
        for (n, conv) in self.shape.convs.iter().enumerate() {
            let (down, across) = ((h - conv.kernel) / conv.stride + 1, (w - conv.kernel) / conv.stride + 1);
            let mut places = Vec::new();
            for v in 0..down {
                for u in 0..across {
                    let mut patch = Vec::new();
                    let (y, x) = (v * conv.stride, u * conv.stride);
                    if n == 0 {
                        for c in 0..depth {
                            for j in 0..conv.kernel {
                                patch.extend((0..conv.kernel).map(|i| (c * h + y + j) * w + x + i));
                            }
                        }
                    } else {
                        for j in 0..conv.kernel {
                            for i in 0..conv.kernel {
                                patch.extend((0..depth).map(|c| ((y + j) * w + x + i) * depth + c));
                            }
                        }
                    }
                    places.push(patch);
                }
            }
            let inputs = places[0].len();
            layers.push((places, start, conv.outputs));
            start += inputs * conv.outputs + conv.outputs;
            (h, w, depth) = (down, across, conv.outputs);
        }
        let features = h * w * depth;
        layers.push((vec![(0..features).collect()], start, self.shape.dense));
        start += (features + 1) * self.shape.dense;
        for (places, start, outputs) in &layers {
            let before = &values[values.len() - 1];
            let after = self.affine(before, places, *start, *outputs, true);
            values.push(after);
        }
        let hidden = values.last().unwrap().clone();
        let all = vec![(0..self.shape.dense).collect::<Vec<usize>>()];
        let mut made = Vec::new();
        let mut flow = vec![0.0; self.shape.dense];
        for (&outputs, factors) in self.shape.heads.iter().zip(factors) {
            made.push(self.affine(&hidden, &all, start, outputs, false));
            self.back(&hidden, &all, start, outputs, factors, gradient, &mut flow);
            start += (self.shape.dense + 1) * outputs;
        }
        for (n, (places, start, outputs)) in layers.iter().enumerate().rev() {
            let slope = flow.iter().zip(&values[n + 1]);
            let delta: Vec<f64> = slope.map(|(&g, &y)| if y > 0.0 { g } else { 0.0 }).collect();
            flow = vec![0.0; values[n].len()];
            self.back(&values[n], places, *start, *outputs, &delta, gradient, &mut flow);
        }
        made
    }

    fn affine(&self, before: &[f64], places: &[Vec<usize>], start: usize, outputs: usize, rectify: bool) -> Vec<f64> {
        let inputs = places[0].len();
        let (weight, bias) = self.weights[start..].split_at(inputs * outputs);
        let mut after = Vec::new();
        for patch in places {
            for o in 0..outputs {
                let products = patch
                    .iter()
                    .zip(&weight[o * inputs..])
                    .map(|(&place, w)| before[place] * w);
                let sum: f64 = products.sum::<f64>() + bias[o];
                after.push(if rectify { sum.max(0.0) } else { sum });
            }
        }
        after
    }

    #[allow(clippy::too_many_arguments)] // a layer's whole story, told once
    fn back(
        &self,
        before: &[f64],
        places: &[Vec<usize>],
        start: usize,
        outputs: usize,
        delta: &[f64],
        gradient: &mut [f64],
        flow: &mut [f64],
    ) {
        let inputs = places[0].len();
        for (r, patch) in places.iter().enumerate() {
            for o in 0..outputs {
                let d = delta[r * outputs + o];
                gradient[start + inputs * outputs + o] += d;
                for (k, &place) in patch.iter().enumerate() {
                    gradient[start + o * inputs + k] += d * before[place];
                    flow[place] += d * self.weights[start + o * inputs + k];
                }
            }
        }
    }
}

/// The network on the GPU, with the plain one's weights.
pub fn on_gpu(plain: &Plain) -> Gpu {
    let mut gpu = Gpu::open(plain.shape.clone(), false).expect("a GPU");
    let weights: Vec<f32> = plain.weights.iter().map(|&w| w as f32).collect();
    gpu.write(Buffer::Weights, &weights);
    gpu
}

pub fn close(what: &str, ours: &[f32], theirs: &[f64]) {
    let scale = theirs.iter().fold(0.0f64, |most, x| most.max(x.abs()));
    for (i, (&a, &b)) in ours.iter().zip(theirs).enumerate() {
        let off = (f64::from(a) - b).abs();
        assert!(
            off <= 2e-5 * scale.max(1e-3),
            "{what}[{i}]: {a} on the GPU, {b} by hand"
        );
    }
}

/// A network small enough to be written out; `wide` pixels can be read by four, others cannot.
pub fn plain(wide: bool) -> Plain {
    let conv = |outputs, kernel, stride| ConvShape {
        outputs,
        kernel,
        stride,
    };
    let (image, first) = match wide {
        true => ([3, 22, 24], conv(8, 4, 4)),
        false => ([2, 19, 17], conv(8, 5, 2)),
    };
    let shape = NetShape {
        image,
        convs: vec![first, conv(12, 3, 1), conv(4, 2, 1)],
        dense: 20,
        heads: vec![5, 1],
        rest: 0,
    };
    let mut random = numbers(7);
    Plain {
        weights: (0..shape.parameters())
            .map(|_| f64::from((random() - 0.45) as f32 * 0.3))
            .collect(),
        images: (0..6 * shape.image_size()).map(|_| (random() * 255.0) as u8).collect(),
        shape,
    }
}

/// The images with these numbers, one after another.
pub fn images_at(plain: &Plain, rows: &[u32]) -> Vec<u8> {
    let size = plain.shape.image_size();
    rows.iter()
        .flat_map(|&row| plain.images[row as usize * size..][..size].iter().copied())
        .collect()
}

pub fn read(gpu: &Gpu, what: Buffer, count: usize) -> Vec<f32> {
    let mut numbers = vec![f32::NAN; count];
    gpu.read(what, &mut numbers);
    assert_eq!(gpu.fault(), None);
    numbers
}
