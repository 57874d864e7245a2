"""Records what NumPy's default generator draws, for tests/numpy.rs. Floats are stored as their bits.

    python crates/rng/tests/record_numpy.py
"""

import json
import pathlib

import numpy as np

SEEDS = [0, 1, 42, 123456789, 2**32 - 1, 2**32, 2**40 + 17, 2**64 - 1]
BOUNDS = [1, 2, 3, 10, 1000, 2**31 + 1, 2**32 - 1, 2**32, 2**32 + 1, 2**62 + 12345]


def bits64(values):
    return np.asarray(values, dtype=np.float64).view(np.uint64).tolist()


def bits32(values):
    return np.asarray(values, dtype=np.float32).view(np.uint32).tolist()


def fnv1a(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def record(seed):
    fresh = lambda: np.random.default_rng(seed)
    mixed = fresh()
    million = fresh().standard_normal(1_000_000).view(np.uint64)
    weights = 2 * np.arange(len(million), dtype=np.uint64) + np.uint64(1)
    return {
        "seed": seed,
        "u64": fresh().bit_generator.random_raw(8).tolist(),
        "u32": fresh().integers(0, 2**32, size=9, dtype=np.uint32).tolist(),
        "f64": bits64(fresh().random(8)),
        "f32": bits32(fresh().random(9, dtype=np.float32)),
        "uniform": bits64(fresh().uniform(-0.6, -0.4, 8)),
        "normal": bits64(fresh().standard_normal(64)),
        "million_normals": int((million * weights).sum()),
        "bounds": BOUNDS,
        "below": [fresh().integers(n, size=12).tolist() for n in BOUNDS],
        "mixed": [
            [int(mixed.integers(7)), *bits64([mixed.random(), mixed.standard_normal()]), int(mixed.integers(2**40))]
            for _ in range(16)
        ],
    }


def record_purpose(seed, purpose, index):
    sequence = np.random.SeedSequence(seed, spawn_key=(fnv1a(purpose), index))
    words = np.random.PCG64(sequence).random_raw(4).tolist()
    return {"seed": seed, "purpose": purpose, "index": index, "u64": words}


purposes = [(0, "actions", 0), (0, "actions", 1), (2**50, "weights", 2**33), (7, "", 3)]
data = {
    "numpy": np.__version__,
    "seeds": [record(seed) for seed in SEEDS],
    "purposes": [record_purpose(*purpose) for purpose in purposes],
}
path = pathlib.Path(__file__).parent / "data" / "numpy.json"
path.write_text(json.dumps(data) + "\n")
