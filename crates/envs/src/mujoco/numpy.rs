//! Sums in the order in which NumPy adds, so that rewards are equal bit for bit.

/// The sum of f(x) for up to 128 numbers, as `np.sum`: eight partial sums, joined as a tree, then the rest.
macro_rules! sum_as_numpy {
    ($(#[$meta:meta])* $name:ident, $float:ty) => {
        $(#[$meta])*
        pub(super) fn $name(numbers: &[$float], f: impl Fn($float) -> $float) -> $float {
            assert!(numbers.len() <= 128, "longer sums are split in NumPy");
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
pub(super) fn control_cost(weight: f32, action: &[f32]) -> f64 {
    f64::from(weight * sum_f32(action, |x| x * x))
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
        assert_eq!(norm(&[3.0, 4.0]), 5.0);
    }
}
