//! Sums in the order in which NumPy adds, so that rewards are equal bit for bit.

/// The sum of f(x), as `np.sum`: eight partial sums, joined as a tree, then the rest; more than 128 numbers are halved
/// first.
macro_rules! sum_as_numpy {
    ($(#[$meta:meta])* $name:ident, $float:ty) => {
        $(#[$meta])*
        pub(super) fn $name(numbers: &[$float], f: impl Fn($float) -> $float + Copy) -> $float {
            if numbers.len() > 128 {
                let (half, rest) = numbers.split_at(numbers.len() / 2 / 8 * 8);
                return $name(half, f) + $name(rest, f);
            }
            let (eights, mut rest) = (numbers.chunks_exact(8), 0.0);
            let tail = eights.remainder();
            if numbers.len() >= 8 {
                let mut sums = [0.0; 8];
                for eight in eights {
                    sums.iter_mut().zip(eight).for_each(|(sum, &x)| *sum += f(x));
                }
                let [a, b, c, d, e, f, g, h] = sums;
                rest = ((a + b) + (c + d)) + ((e + f) + (g + h));
            }
            tail.iter().for_each(|&x| rest += f(x));
            rest
        }
    };
}

sum_as_numpy!(
    /// In double precision.
    sum,
    f64
);
sum_as_numpy!(
    /// In single precision.
    sum_f32,
    f32
);

/// weight * sum(action^2) in single precision: Gymnasium's actions are, and Python's weight becomes so.
pub(super) fn control_cost(weight: f64, action: &[f32]) -> f64 {
    f64::from(weight as f32 * sum_f32(action, |x| x * x))
}

/// The length of a vector.
pub(super) fn norm(vector: &[f64]) -> f64 {
    vector.iter().map(|x| x * x).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_numpys() {
        // np.sum(np.square(np.float32(0.7) * np.arange(1, 9, dtype=np.float32))); in order it would be 99.96.
        let numbers: Vec<f32> = (1..9).map(|i| 0.7 * i as f32).collect();
        assert_eq!(sum_f32(&numbers, |x| x * x), 99.95999);
        assert_eq!(sum(&[1.0, 2.0, 3.0], |x| x * x), 14.0);
        // np.sum(np.sqrt(np.arange(1, 301)) * 0.3); in order it would be 1041.7669165729221.
        let numbers: Vec<f64> = (1..301).map(|i| f64::from(i).sqrt() * 0.3).collect();
        assert_eq!(sum(&numbers, |x| x), 1041.7669165729226);
        assert_eq!(norm(&[3.0, 4.0]), 5.0);
    }
}
