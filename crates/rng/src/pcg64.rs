//! The generator itself: PCG64 (XSL-RR 128/64, O'Neill 2014) and the distributions the project draws from.

use crate::seed;
use crate::ziggurat::{INVERSE_R, R, TABLES};
use serde::{Deserialize, Serialize};

const MULTIPLIER: u128 = 0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645;

/// NumPy's default generator: a 128-bit linear congruential state, permuted to 64 bits of output.
///
/// Equal generators draw equal numbers for ever; saving and loading one loses nothing.
///
/// ```
/// use epgt_rng::Pcg64;
/// let mut rng = Pcg64::from_seed(7);
/// let mut twin = rng.clone();
/// assert_eq!(rng.standard_normal(), twin.standard_normal());
/// assert_eq!(rng, twin);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Saved", into = "Saved")]
pub struct Pcg64 {
    state: u128,
    increment: u128,
    /// The upper half of a 64-bit draw of which [`Pcg64::next_u32`] has given the lower half.
    spare: Option<u32>,
}

/// How a generator is stored: 128-bit numbers as halves (low, high), since most formats have no such integers.
#[derive(Serialize, Deserialize)]
struct Saved {
    state: [u64; 2],
    increment: [u64; 2],
    spare: Option<u32>,
}

fn halves(number: u128) -> [u64; 2] {
    [number as u64, (number >> 64) as u64]
}

fn whole([low, high]: [u64; 2]) -> u128 {
    u128::from(high) << 64 | u128::from(low)
}

impl From<Pcg64> for Saved {
    fn from(rng: Pcg64) -> Self {
        Saved {
            state: halves(rng.state),
            increment: halves(rng.increment),
            spare: rng.spare,
        }
    }
}

impl From<Saved> for Pcg64 {
    fn from(saved: Saved) -> Self {
        Pcg64 {
            state: whole(saved.state),
            increment: whole(saved.increment),
            spare: saved.spare,
        }
    }
}

impl Pcg64 {
    /// The generator of `numpy.random.default_rng(seed)`, which is also Gymnasium's `np_random(seed)`.
    ///
    /// ```
    /// let mut rng = epgt_rng::Pcg64::from_seed(0);
    /// assert_eq!(rng.next_f64(), 0.6369616873214543);
    /// ```
    pub fn from_seed(seed: u64) -> Self {
        Self::from_entropy(&seed::entropy(seed, &[]))
    }

    /// An independent stream for one purpose of a run, so that drawing more for one never shifts another.
    ///
    /// It is NumPy's `SeedSequence(seed, spawn_key=(fnv1a_64(purpose), index))`.
    ///
    /// ```
    /// use epgt_rng::Pcg64;
    /// let mut actions = Pcg64::for_purpose(1, "actions", 0);
    /// let mut weights = Pcg64::for_purpose(1, "weights", 0);
    /// assert_ne!(actions.next_u64(), weights.next_u64());
    /// ```
    pub fn for_purpose(seed: u64, purpose: &str, index: u64) -> Self {
        Self::from_entropy(&seed::entropy(seed, &[fnv1a(purpose), index]))
    }

    fn from_entropy(entropy: &[u32]) -> Self {
        let [state_high, state_low, stream_high, stream_low] = seed::state(entropy);
        let increment = whole([stream_low, stream_high]) << 1 | 1;
        let mut rng = Pcg64 {
            state: increment,
            increment,
            spare: None,
        };
        rng.state = rng.state.wrapping_add(whole([state_low, state_high]));
        rng.advance();
        rng
    }

    #[inline]
    fn advance(&mut self) {
        self.state = self.state.wrapping_mul(MULTIPLIER).wrapping_add(self.increment);
    }

    /// 64 random bits.
    ///
    /// ```
    /// let mut rng = epgt_rng::Pcg64::from_seed(0);
    /// assert_eq!(rng.next_u64(), 11749869230777074271);
    /// ```
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.advance();
        let [low, high] = halves(self.state);
        (low ^ high).rotate_right((high >> 58) as u32)
    }

    /// 32 random bits: the lower half of a 64-bit draw, then its upper half at the next call.
    ///
    /// The other draws neither use nor drop a waiting half, as in NumPy.
    ///
    /// ```
    /// use epgt_rng::Pcg64;
    /// let (mut rng, mut whole) = (Pcg64::from_seed(0), Pcg64::from_seed(0));
    /// let (low, high) = (rng.next_u32(), rng.next_u32());
    /// assert_eq!(u64::from(high) << 32 | u64::from(low), whole.next_u64());
    /// ```
    #[inline]
    pub fn next_u32(&mut self) -> u32 {
        if let Some(upper) = self.spare.take() {
            return upper;
        }
        let bits = self.next_u64();
        self.spare = Some((bits >> 32) as u32);
        bits as u32
    }

    /// A number in [0, 1) with 53 random bits: `Generator.random()`.
    ///
    /// ```
    /// assert!((0.0..1.0).contains(&epgt_rng::Pcg64::from_seed(1).next_f64()));
    /// ```
    #[inline]
    pub fn next_f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A number in [0, 1) with 24 random bits: `Generator.random(dtype=float32)`.
    ///
    /// ```
    /// assert!((0.0..1.0).contains(&epgt_rng::Pcg64::from_seed(1).next_f32()));
    /// ```
    #[inline]
    pub fn next_f32(&mut self) -> f32 {
        (self.next_u32() >> 8) as f32 * (1.0 / (1u32 << 24) as f32)
    }

    /// A number in [low, high): `Generator.uniform(low, high)`.
    ///
    /// ```
    /// let mut rng = epgt_rng::Pcg64::from_seed(42);
    /// assert_eq!(rng.uniform(-0.6, -0.4), -0.44520879028880733);
    /// ```
    #[inline]
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.next_f64()
    }

    /// A normal number of mean 0 and variance 1: `Generator.standard_normal()`, by the ziggurat method.
    ///
    /// ```
    /// let mut rng = epgt_rng::Pcg64::from_seed(42);
    /// assert_eq!(rng.standard_normal(), 0.30471707975443135);
    /// ```
    #[inline]
    pub fn standard_normal(&mut self) -> f64 {
        let tables = &*TABLES;
        loop {
            let bits = self.next_u64();
            let layer = (bits & 0xff) as usize;
            let magnitude = bits >> 9 & ((1 << 52) - 1);
            let x = magnitude as f64 * tables.width[layer];
            let x = f64::from_bits(x.to_bits() | (bits >> 8 & 1) << 63);
            if magnitude < tables.inside[layer] {
                return x;
            }
            if let Some(x) = self.at_the_edge(layer, magnitude, x) {
                return x;
            }
        }
    }

    /// The rare rest of [`Pcg64::standard_normal`]: the tail, or a point that may lie above the bell.
    #[cold]
    fn at_the_edge(&mut self, layer: usize, magnitude: u64, x: f64) -> Option<f64> {
        if layer == 0 {
            loop {
                let beyond = -INVERSE_R * (-self.next_f64()).ln_1p();
                let y = -(-self.next_f64()).ln_1p();
                if y + y > beyond * beyond {
                    let tail = R + beyond;
                    return Some(if magnitude >> 8 & 1 == 1 { -tail } else { tail });
                }
            }
        }
        let height = &TABLES.height;
        let y = (height[layer - 1] - height[layer]) * self.next_f64() + height[layer];
        (y < (-0.5 * x * x).exp()).then_some(x)
    }

    /// A whole number in 0..n, each equally likely: `Generator.integers(n)` (Lemire's method, 2019).
    ///
    /// # Panics
    /// When `n` is 0.
    ///
    /// ```
    /// let mut rng = epgt_rng::Pcg64::from_seed(42);
    /// assert_eq!([rng.below(10), rng.below(10), rng.below(10)], [0, 7, 6]);
    /// ```
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "there is no whole number below 0");
        match u32::try_from(n) {
            Ok(1) => 0,
            Ok(n) => u64::from(self.below_u32(n)),
            Err(_) if n == 1 << 32 => u64::from(self.next_u32()),
            Err(_) => self.below_u64(n),
        }
    }

    #[inline]
    fn below_u32(&mut self, n: u32) -> u32 {
        let mut product = u64::from(self.next_u32()) * u64::from(n);
        if (product as u32) < n {
            let rejected = n.wrapping_neg() % n;
            while (product as u32) < rejected {
                product = u64::from(self.next_u32()) * u64::from(n);
            }
        }
        (product >> 32) as u32
    }

    fn below_u64(&mut self, n: u64) -> u64 {
        let mut product = u128::from(self.next_u64()) * u128::from(n);
        if (product as u64) < n {
            let rejected = n.wrapping_neg() % n;
            while (product as u64) < rejected {
                product = u128::from(self.next_u64()) * u128::from(n);
            }
        }
        (product >> 64) as u64
    }

    /// Puts the items in a random order, every order equally likely (Fisher and Yates).
    ///
    /// ```
    /// let mut items = [0, 1, 2, 3];
    /// epgt_rng::Pcg64::from_seed(3).shuffle(&mut items);
    /// items.sort();
    /// assert_eq!(items, [0, 1, 2, 3]);
    /// ```
    pub fn shuffle(&mut self, items: &mut [u32]) {
        for last in (1..items.len()).rev() {
            let chosen = self.below(last as u64 + 1) as usize;
            items.swap(last, chosen);
        }
    }
}

/// The 64-bit FNV-1a hash of a text.
fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
