//! "Did you mean ...?"

use crate::quoted;

/// The most bytes of a name that is compared: nobody misspells a longer one, and a comparison takes time and memory.
const MOST_COMPARED: usize = 100;

/// The candidate closest in spelling to `name`, if any is close enough to be a likely slip.
///
/// ```
/// use epgt_settings::nearest;
/// assert_eq!(nearest("CartPol-v1", ["CartPole-v1", "Pendulum-v1"]), Some("CartPole-v1"));
/// assert_eq!(nearest("Go", ["CartPole-v1", "Pendulum-v1"]), None);
/// ```
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > MOST_COMPARED {
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
    refusal(what, name, nearest(name, candidates.iter().copied()), candidates)
}

/// [`unknown`] for a setting that takes one of a few names; `also` are other words for some of them, each with the name
/// it stands for.
pub fn unknown_choice(name: &str, candidates: &[&str], also: &[(&str, &str)]) -> String {
    let meant = also.iter().find(|(word, _)| word.eq_ignore_ascii_case(name));
    let near = meant
        .map(|(_, candidate)| *candidate)
        .or_else(|| nearest(name, candidates.iter().copied()));
    refusal("name", name, near, candidates)
}

fn refusal(what: &str, name: &str, near: Option<&str>, candidates: &[&str]) -> String {
    let name = quoted(name);
    match near {
        Some(candidate) => format!("unknown {what} '{name}'; did you mean '{candidate}'?"),
        None => format!("unknown {what} '{name}'; valid ones are {}", candidates.join(", ")),
    }
}
