//! "Did you mean ...?"

use crate::clean_line;

/// Bytes of a name that can be a slip.
const LONGEST: usize = 200;
/// Characters of a wrong name that are shown.
const SHOWN: usize = 60;

/// The candidate closest in spelling to `name`, if any is close enough to be a likely slip.
///
/// ```
/// use epgt_settings::nearest;
/// assert_eq!(nearest("CartPol-v1", ["CartPole-v1", "Pendulum-v1"]), Some("CartPole-v1"));
/// assert_eq!(nearest("Go", ["CartPole-v1", "Pendulum-v1"]), None);
/// ```
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Comparing takes time and memory as large as the name, and nobody who wrote so much has slipped.
    if name.len() > LONGEST {
        return None;
    }
    let wanted = name.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| {
            let other = candidate.to_lowercase();
            let slips = strsim::normalized_damerau_levenshtein(&wanted, &other) + 0.1;
            let mut score = strsim::jaro_winkler(&wanted, &other).max(slips);
            if other.starts_with(&wanted) || other.ends_with(&wanted) {
                score += 0.2;
            }
            (score, candidate)
        })
        .filter(|(score, _)| *score > 0.72)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

/// One sentence that refuses an unknown name and points at the nearest valid one, or at all of them.
///
/// ```
/// let text = epgt_settings::unknown("algorithm", "ac2", &["a2c", "ppo"]);
/// assert_eq!(text, "unknown algorithm 'ac2'; did you mean 'a2c'?");
/// ```
pub fn unknown(what: &str, name: &str, candidates: &[&str]) -> String {
    let near = nearest(name, candidates.iter().copied());
    let name = clean_line(name, SHOWN);
    match near {
        Some(candidate) => format!("unknown {what} '{name}'; did you mean '{candidate}'?"),
        None => format!("unknown {what} '{name}'; valid ones are {}", candidates.join(", ")),
    }
}
