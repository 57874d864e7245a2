//! Several independent categorical distributions side by side: what a multi-discrete action space asks for.
//!
//! A row of outputs holds the logits of the first choice, then those of the second, and so on. Log-probabilities,
//! entropies and divergences of independent choices are sums over them.

use epgt_rng::Pcg64;

use crate::distribution::{categorical_kl, invert, log_sum_exp, row_entropy};

/// The logits of each choice of a row.
fn parts<'a>(counts: &'a [usize], row: &'a [f32]) -> impl Iterator<Item = &'a [f32]> {
    let mut rest = row;
    counts.iter().map(move |&n| {
        let (part, others) = rest.split_at(n);
        rest = others;
        part
    })
}

fn rows<'a>(counts: &[usize], outputs: &'a [f32]) -> std::slice::ChunksExact<'a, f32> {
    outputs.chunks_exact(counts.iter().sum())
}

pub(crate) fn sample(counts: &[usize], outputs: &[f32], rng: &mut Pcg64, actions: &mut [f32], log_probs: &mut [f32]) {
    let actions = actions.chunks_exact_mut(counts.len());
    for ((row, action), log_prob) in rows(counts, outputs).zip(actions).zip(log_probs) {
        *log_prob = 0.0;
        for (logits, number) in parts(counts, row).zip(action) {
            let normaliser = log_sum_exp(logits);
            let chosen = invert(logits, normaliser, rng.next_f32());
            *number = chosen as f32;
            *log_prob += logits[chosen] - normaliser;
        }
    }
}

pub(crate) fn mode(counts: &[usize], outputs: &[f32], actions: &mut [f32]) {
    for (row, action) in rows(counts, outputs).zip(actions.chunks_exact_mut(counts.len())) {
        for (logits, number) in parts(counts, row).zip(action) {
            let best = (1..logits.len()).fold(0, |best, k| if logits[k] > logits[best] { k } else { best });
            *number = best as f32;
        }
    }
}

pub(crate) fn evaluate(
    counts: &[usize],
    outputs: &[f32],
    actions: &[f32],
    log_probs: &mut [f32],
    entropies: &mut [f32],
) {
    let results = log_probs.iter_mut().zip(entropies);
    let actions = actions.chunks_exact(counts.len());
    for ((row, action), (log_prob, entropy)) in rows(counts, outputs).zip(actions).zip(results) {
        (*log_prob, *entropy) = (0.0, 0.0);
        for (logits, &number) in parts(counts, row).zip(action) {
            let normaliser = log_sum_exp(logits);
            *log_prob += logits[number as usize] - normaliser;
            *entropy += row_entropy(logits, normaliser);
        }
    }
}

pub(crate) fn kl(counts: &[usize], old: &[f32], new: &[f32], divergences: &mut [f32]) {
    for ((old, new), divergence) in rows(counts, old).zip(rows(counts, new)).zip(divergences) {
        let choices = parts(counts, old).zip(parts(counts, new));
        *divergence = choices.map(|(old, new)| categorical_kl(old, new)).sum();
    }
}

pub(crate) fn backward(
    counts: &[usize],
    outputs: &[f32],
    actions: &[f32],
    log_prob_gradient: &[f32],
    entropy_gradient: &[f32],
    output_gradient: &mut [f32],
) {
    let width = counts.iter().sum();
    let weights = log_prob_gradient.iter().zip(entropy_gradient);
    let gradients = output_gradient.chunks_exact_mut(width);
    let actions = actions.chunks_exact(counts.len());
    for (((row, gradient), action), (&log_prob, &entropy)) in
        rows(counts, outputs).zip(gradients).zip(actions).zip(weights)
    {
        let mut start = 0;
        for (logits, &number) in parts(counts, row).zip(action) {
            let gradient = &mut gradient[start..][..logits.len()];
            let normaliser = log_sum_exp(logits);
            let part_entropy = row_entropy(logits, normaliser);
            for (out, logit) in gradient.iter_mut().zip(logits) {
                let log_p = logit - normaliser;
                *out = -log_p.exp() * (log_prob + entropy * (log_p + part_entropy));
            }
            gradient[number as usize] += log_prob;
            start += logits.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::ActionDistribution;
    use epgt_envs::Space;
    use epgt_rng::Pcg64;

    #[test]
    fn every_choice_is_drawn_as_often_as_its_own_probability_says() {
        let dice = ActionDistribution::for_space(&Space::MultiDiscrete(vec![2, 3]));
        let probabilities = [0.25f32, 0.75, 0.5, 0.2, 0.3];
        let logits = probabilities.map(f32::ln);
        let mut rng = Pcg64::from_seed(3);
        let mut counts = [0u32; 5];
        for _ in 0..20_000 {
            let (mut action, mut log_prob) = ([0.0; 2], [0.0]);
            dice.sample(&logits, &[], &mut rng, &mut action, &mut log_prob);
            let chosen = [action[0] as usize, 2 + action[1] as usize];
            chosen.iter().for_each(|&k| counts[k] += 1);
            assert!((log_prob[0] - logits[chosen[0]] - logits[chosen[1]]).abs() < 1e-5);
        }
        for (count, p) in counts.iter().zip(probabilities) {
            assert!((*count as f32 / 20_000.0 - p).abs() < 0.015, "{counts:?}");
        }
    }

    #[test]
    fn the_mode_is_the_likeliest_of_every_choice() {
        let dice = ActionDistribution::for_space(&Space::MultiDiscrete(vec![2, 3]));
        let mut actions = [9.0; 4];
        dice.mode(&[0.0, 1.0, 0.3, 0.2, 0.1, 2.0, 1.0, -1.0, 0.0, 5.0], &mut actions);
        assert_eq!(actions, [1.0, 0.0, 0.0, 2.0]);
    }

    #[test]
    fn a_single_choice_is_the_categorical() {
        let (one, plain) = (
            ActionDistribution::for_space(&Space::MultiDiscrete(vec![3])),
            ActionDistribution::Categorical { n: 3 },
        );
        let (old, new, actions) = (
            [0.3, -0.2, 1.0, 0.0, 0.1, 0.2],
            [0.1, 0.4, -1.0, 2.0, 0.0, 0.5],
            [2.0, 0.0],
        );
        let answers = |distribution: ActionDistribution| {
            let (mut log_probs, mut entropies, mut divergences, mut gradient) =
                ([0.0; 2], [0.0; 2], [0.0; 2], [0.0; 6]);
            distribution.evaluate(&old, &[], &actions, &mut log_probs, &mut entropies);
            distribution.kl((&old, &[]), (&new, &[]), &mut divergences);
            let (by_log_prob, by_entropy) = ([0.7, -1.3], [0.2, 0.5]);
            distribution.backward((&old, &[]), &actions, &by_log_prob, &by_entropy, &mut gradient, &mut []);
            (log_probs, entropies, divergences, gradient)
        };
        assert_eq!(answers(one), answers(plain));
    }
}
