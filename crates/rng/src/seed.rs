//! From a seed to the 256 bits that start a generator: NumPy's `SeedSequence`.
//!
//! Nearby seeds (0, 1, 2, ...) would give related streams if they were used as the state itself. The entropy is
//! therefore hashed into a pool of four words, and the state is drawn from that pool by a second hash.

const POOL: usize = 4;
const INIT_A: u32 = 0x43b0_d7e5;
const MULT_A: u32 = 0x931e_8875;
const INIT_B: u32 = 0x8b51_f9dd;
const MULT_B: u32 = 0x58f3_8ded;
const MIX_LEFT: u32 = 0xca01_f9dd;
const MIX_RIGHT: u32 = 0x4973_f715;

/// Adds the 32-bit words of `number`, lowest first, without leading zeros; zero is one word.
pub(crate) fn push_words(words: &mut Vec<u32>, number: u64) {
    words.push(number as u32);
    if number >> 32 != 0 {
        words.push((number >> 32) as u32);
    }
}

/// The entropy words of `SeedSequence(seed, spawn_key=key)`: a key always starts behind a full pool.
pub(crate) fn entropy(seed: u64, key: &[u64]) -> Vec<u32> {
    let mut words = Vec::with_capacity(POOL + 2 * key.len());
    push_words(&mut words, seed);
    if !key.is_empty() {
        words.resize(POOL, 0);
    }
    for &number in key {
        push_words(&mut words, number);
    }
    words
}

/// `SeedSequence.generate_state(4, uint64)` of these entropy words.
pub(crate) fn state(entropy: &[u32]) -> [u64; 4] {
    let pool = mixed_pool(entropy);
    let mut constant = INIT_B;
    let mut halves = [0u32; 8];
    for (half, &word) in halves.iter_mut().zip(pool.iter().cycle()) {
        *half = hash(word, &mut constant, MULT_B);
    }
    std::array::from_fn(|i| u64::from(halves[2 * i]) | u64::from(halves[2 * i + 1]) << 32)
}

fn mixed_pool(entropy: &[u32]) -> [u32; POOL] {
    let mut constant = INIT_A;
    let mut pool: [u32; POOL] =
        std::array::from_fn(|i| hash(entropy.get(i).copied().unwrap_or(0), &mut constant, MULT_A));
    for source in 0..POOL {
        for target in (0..POOL).filter(|&target| target != source) {
            pool[target] = mix(pool[target], hash(pool[source], &mut constant, MULT_A));
        }
    }
    for &word in entropy.iter().skip(POOL) {
        for target in &mut pool {
            *target = mix(*target, hash(word, &mut constant, MULT_A));
        }
    }
    pool
}

/// One hashing step; the constant moves on, so that equal words at different places differ.
fn hash(word: u32, constant: &mut u32, multiplier: u32) -> u32 {
    let word = word ^ *constant;
    *constant = constant.wrapping_mul(multiplier);
    let word = word.wrapping_mul(*constant);
    word ^ word >> 16
}

fn mix(left: u32, right: u32) -> u32 {
    let mixed = MIX_LEFT.wrapping_mul(left).wrapping_sub(MIX_RIGHT.wrapping_mul(right));
    mixed ^ mixed >> 16
}
