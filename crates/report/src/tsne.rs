//! t-SNE (van der Maaten and Hinton 2008): points of many dimensions on a plane, so that neighbours stay neighbours.
//!
//! Exact: all pairs are looked at in every step. It starts from the two directions of largest variance instead of at
//! random, so the same points always give the same map.

/// Steps of gradient descent, and how many of them exaggerate the attraction so that clusters form.
const STEPS: usize = 500;
const EARLY: usize = 125;
const EXAGGERATION: f64 = 12.0;

/// The map of points, `points[i * dimensions..][..dimensions]` each, with a perplexity (about how many neighbours
/// count) of 30 or a third of the points, whichever is less.
///
/// ```
/// let points: Vec<f64> = (0..40).map(|i| if i < 20 { i as f64 * 0.01 } else { 50.0 + i as f64 * 0.01 }).collect();
/// let map = epgt_report::tsne::tsne(&points, 2);
/// assert_eq!(map.len(), 20);
/// ```
pub fn tsne(points: &[f64], dimensions: usize) -> Vec<[f64; 2]> {
    let count = points.len() / dimensions.max(1);
    if count < 3 {
        return (0..count).map(|index| [index as f64, 0.0]).collect();
    }
    let squared = squared_distances(points, dimensions);
    let affinities = joint_affinities(&squared, count, perplexity_for(count));
    descend(&affinities, principal_start(points, dimensions))
}

fn perplexity_for(count: usize) -> f64 {
    (count as f64 / 3.0).clamp(1.0, 30.0)
}

/// `[i][j]` squared Euclidean distances.
fn squared_distances(points: &[f64], dimensions: usize) -> Vec<f64> {
    let count = points.len() / dimensions;
    let mut squared = vec![0.0; count * count];
    for i in 0..count {
        for j in 0..i {
            let (a, b) = (
                &points[i * dimensions..][..dimensions],
                &points[j * dimensions..][..dimensions],
            );
            let distance = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum();
            squared[i * count + j] = distance;
            squared[j * count + i] = distance;
        }
    }
    squared
}

/// p_ij of the paper (Eq. 1 and 2): symmetric, summing to 1.
fn joint_affinities(squared: &[f64], count: usize, perplexity: f64) -> Vec<f64> {
    let mut conditional = vec![0.0; count * count];
    for (i, row) in conditional.chunks_exact_mut(count).enumerate() {
        calibrate(&squared[i * count..][..count], i, perplexity, row);
    }
    let mut joint = vec![0.0; count * count];
    for i in 0..count {
        for j in 0..count {
            joint[i * count + j] = (conditional[i * count + j] + conditional[j * count + i]) / (2.0 * count as f64);
        }
    }
    joint
}

/// Writes p_j|i for the one precision at which the row's entropy is the logarithm of the perplexity, to 1e-7.
fn calibrate(squared: &[f64], own: usize, perplexity: f64, row: &mut [f64]) {
    let others = || {
        squared
            .iter()
            .enumerate()
            .filter(|(j, _)| *j != own)
            .map(|(_, distance)| *distance)
    };
    let nearest = others().fold(f64::INFINITY, f64::min);
    // On the scale of the distances, so that the search starts where it will end.
    let spread = others().map(|distance| distance - nearest).sum::<f64>() / (squared.len() - 1) as f64;
    let (mut low, mut high, mut precision) = (0.0, f64::INFINITY, 1.0 / spread.max(1e-300));
    for _ in 0..200 {
        let (mut sum, mut weighted) = (0.0, 0.0);
        for (j, (p, &distance)) in row.iter_mut().zip(squared).enumerate() {
            // Distances from the nearest: the same shares, and no underflow.
            *p = if j == own {
                0.0
            } else {
                (-precision * (distance - nearest)).exp()
            };
            sum += *p;
            weighted += *p * (distance - nearest);
        }
        let entropy = sum.ln() + precision * weighted / sum;
        row.iter_mut().for_each(|p| *p /= sum);
        let excess = entropy - perplexity.ln();
        if excess.abs() < 1e-7 {
            break;
        }
        match excess > 0.0 {
            true => low = precision,
            false => high = precision,
        }
        precision = if high.is_finite() {
            (low + high) / 2.0
        } else {
            (precision * 2.0).min(1e300)
        };
    }
}

/// The first two principal components, scaled to a deviation of 1e-2, by power iteration.
fn principal_start(points: &[f64], dimensions: usize) -> Vec<[f64; 2]> {
    let count = points.len() / dimensions;
    let mut centred = points.to_vec();
    for dimension in 0..dimensions {
        let column = || points.iter().skip(dimension).step_by(dimensions);
        let mean = column().sum::<f64>() / count as f64;
        centred
            .iter_mut()
            .skip(dimension)
            .step_by(dimensions)
            .for_each(|x| *x -= mean);
    }
    let mut start = vec![[0.0; 2]; count];
    for axis in 0..2 {
        // Uneven, so that it is orthogonal to no component of note.
        let mut direction: Vec<f64> = (0..dimensions).map(|d| 1.0 / (1.0 + (d + axis) as f64)).collect();
        for _ in 0..100 {
            let mut next = vec![0.0; dimensions];
            for row in centred.chunks_exact(dimensions) {
                let along: f64 = row.iter().zip(&direction).map(|(x, d)| x * d).sum();
                next.iter_mut().zip(row).for_each(|(n, x)| *n += along * x);
            }
            let norm = next.iter().map(|x| x * x).sum::<f64>().sqrt();
            if norm <= 1e-300 {
                break;
            }
            direction = next.into_iter().map(|x| x / norm).collect();
        }
        for (row, place) in centred.chunks_exact_mut(dimensions).zip(&mut start) {
            let along: f64 = row.iter().zip(&direction).map(|(x, d)| x * d).sum();
            place[axis] = along;
            row.iter_mut().zip(&direction).for_each(|(x, d)| *x -= along * d);
        }
    }
    let deviation = (start.iter().map(|place| place[0] * place[0]).sum::<f64>() / count as f64).sqrt();
    for (index, place) in start.iter_mut().enumerate() {
        *place = place.map(|x| 1e-2 * x / deviation.max(1e-300));
        // Equal points would stay equal for ever.
        let angle = index as f64 * 2.399_963;
        place[0] += 1e-5 * angle.cos();
        place[1] += 1e-5 * angle.sin();
    }
    start
}

/// Gradient descent with momentum and a gain per coordinate, as in the paper's section 3.4.
fn descend(affinities: &[f64], mut places: Vec<[f64; 2]>) -> Vec<[f64; 2]> {
    let count = places.len();
    let rate = (count as f64 / EXAGGERATION / 4.0).max(50.0);
    let mut gradient = vec![[0.0; 2]; count];
    let mut velocity = vec![[0.0f64; 2]; count];
    let mut gains = vec![[1.0f64; 2]; count];
    let mut kernel = vec![0.0; count * count];
    for step in 0..STEPS {
        let (exaggeration, momentum) = if step < EARLY { (EXAGGERATION, 0.5) } else { (1.0, 0.8) };
        gradient_at(affinities, exaggeration, &places, &mut kernel, &mut gradient);
        for index in 0..count {
            for axis in 0..2 {
                let same = (gradient[index][axis] > 0.0) == (velocity[index][axis] > 0.0);
                let gain = &mut gains[index][axis];
                *gain = if same { (*gain * 0.8).max(0.01) } else { *gain + 0.2 };
                velocity[index][axis] = momentum * velocity[index][axis] - rate * *gain * gradient[index][axis];
                places[index][axis] += velocity[index][axis];
            }
        }
    }
    places
}

/// The gradient of the Kullback-Leibler divergence (Eq. 5): 4 sum_j (p_ij - q_ij) (y_i - y_j) / (1 + |y_i - y_j|^2).
fn gradient_at(p: &[f64], exaggeration: f64, places: &[[f64; 2]], kernel: &mut [f64], gradient: &mut [[f64; 2]]) {
    let count = places.len();
    let mut sum = 0.0;
    for (place, row) in places.iter().zip(kernel.chunks_exact_mut(count)) {
        for (other, k) in places.iter().zip(row.iter_mut()) {
            let (dx, dy) = (place[0] - other[0], place[1] - other[1]);
            *k = 1.0 / (1.0 + dx * dx + dy * dy);
            sum += *k;
        }
    }
    // Each point with itself.
    sum -= count as f64;
    for (i, gradient) in gradient.iter_mut().enumerate() {
        let (mut gx, mut gy) = (0.0, 0.0);
        let row = &kernel[i * count..][..count];
        for ((other, &k), &p) in places.iter().zip(row).zip(&p[i * count..][..count]) {
            let force = (exaggeration * p - k / sum) * k;
            gx += force * (places[i][0] - other[0]);
            gy += force * (places[i][1] - other[1]);
        }
        *gradient = [4.0 * gx, 4.0 * gy];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use epgt_rng::Pcg64;

    fn cloud(count: usize, dimensions: usize, seed: u64) -> Vec<f64> {
        let mut rng = Pcg64::from_seed(seed);
        (0..count * dimensions).map(|_| rng.next_f64() - 0.5).collect()
    }

    #[test]
    fn every_row_has_the_perplexity_that_was_asked_for() {
        let count = 60;
        let squared = squared_distances(&cloud(count, 5, 1), 5);
        for wanted in [2.0, 10.0, 30.0] {
            let mut row = vec![0.0; count];
            for own in 0..count {
                calibrate(&squared[own * count..][..count], own, wanted, &mut row);
                let entropy: f64 = row.iter().filter(|p| **p > 0.0).map(|p| -p * p.ln()).sum();
                assert!((entropy.exp() - wanted).abs() < 1e-5, "{} for {wanted}", entropy.exp());
                assert_eq!(row[own], 0.0);
            }
        }
    }

    #[test]
    fn affinities_are_symmetric_and_sum_to_one() {
        let joint = joint_affinities(&squared_distances(&cloud(20, 3, 2), 3), 20, 5.0);
        assert!((joint.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!((0..400).all(|at| joint[at] == joint[at % 20 * 20 + at / 20]));
    }

    /// KL(P || Q), written from the paper's Eq. 3 and 4.
    fn divergence(p: &[f64], places: &[[f64; 2]]) -> f64 {
        let count = places.len();
        let kernel = |i: usize, j: usize| {
            let (dx, dy) = (places[i][0] - places[j][0], places[i][1] - places[j][1]);
            1.0 / (1.0 + dx * dx + dy * dy)
        };
        let pairs = || {
            (0..count * count)
                .map(|at| (at / count, at % count))
                .filter(|(i, j)| i != j)
        };
        let sum: f64 = pairs().map(|(i, j)| kernel(i, j)).sum();
        let term = |(i, j): (usize, usize)| {
            let p = p[i * count + j];
            if p > 0.0 {
                p * (p / (kernel(i, j) / sum)).ln()
            } else {
                0.0
            }
        };
        pairs().map(term).sum()
    }

    #[test]
    fn the_gradient_is_that_of_the_divergence() {
        let count = 12;
        let p = joint_affinities(&squared_distances(&cloud(count, 4, 3), 4), count, 4.0);
        let mut places: Vec<[f64; 2]> = cloud(count, 2, 4).chunks(2).map(|c| [3.0 * c[0], 3.0 * c[1]]).collect();
        let (mut kernel, mut gradient) = (vec![0.0; count * count], vec![[0.0; 2]; count]);
        gradient_at(&p, 1.0, &places, &mut kernel, &mut gradient);
        for index in 0..count {
            for axis in 0..2 {
                let mut at = |shift: f64| {
                    places[index][axis] += shift;
                    let value = divergence(&p, &places);
                    places[index][axis] -= shift;
                    value
                };
                let numeric = (at(1e-5) - at(-1e-5)) / 2e-5;
                assert!(
                    (numeric - gradient[index][axis]).abs() < 1e-8,
                    "{numeric} and {}",
                    gradient[index][axis]
                );
            }
        }
    }

    #[test]
    fn clusters_far_apart_stay_apart() {
        let (each, dimensions) = (40, 8);
        let mut points = cloud(3 * each, dimensions, 5);
        for (index, point) in points.chunks_exact_mut(dimensions).enumerate() {
            point[index / each] += 20.0;
        }
        let map = tsne(&points, dimensions);
        let distance = |a: [f64; 2], b: [f64; 2]| (a[0] - b[0]).hypot(a[1] - b[1]);
        for i in 0..map.len() {
            let others = (0..map.len()).filter(|j| *j != i);
            let nearest = others.min_by(|a, b| distance(map[i], map[*a]).total_cmp(&distance(map[i], map[*b])));
            assert_eq!(nearest.unwrap() / each, i / each, "point {i}");
        }
        let centre = |cluster: usize| {
            let own = &map[cluster * each..][..each];
            [0, 1].map(|axis| own.iter().map(|p| p[axis]).sum::<f64>() / each as f64)
        };
        let radius = (0..map.len())
            .map(|i| distance(map[i], centre(i / each)))
            .fold(0.0, f64::max);
        let gap = distance(centre(0), centre(1)).min(distance(centre(1), centre(2)));
        assert!(gap > 1.5 * radius, "gap {gap}, radius {radius}");
        assert_eq!(map, tsne(&points, dimensions), "the same points give the same map");
    }

    #[test]
    fn few_points_and_equal_points_have_a_map_without_nan() {
        assert!(tsne(&[], 4).is_empty());
        assert_eq!(tsne(&[1.0, 2.0, 3.0, 4.0], 2).len(), 2);
        for points in [vec![2.0; 40], vec![0.0, 0.0, 0.0, 0.0, 1.0, 1.0]] {
            let map = tsne(&points, 2);
            assert!(map.iter().flatten().all(|x| x.is_finite()), "{map:?}");
        }
    }
}
