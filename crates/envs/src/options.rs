//! The options of tasks: Gymnasium's keyword arguments, declared once per task with default and meaning.
//!
//! [`Options`] is what a task was given on top of its defaults. It is part of a [`TaskSpec`](crate::TaskSpec), so
//! whoever passes a task on passes its options on.

use std::sync::Arc;

use crate::EnvError;
use epgt_settings::Value as _;

/// The value of an option; its kind is the one that the option takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OptionValue<'a> {
    /// True or false.
    Flag(bool),
    /// A whole number, at least 1.
    Count(usize),
    /// A finite number.
    Number(f64),
    /// The lower and the upper bound of something; they may be infinite.
    Range([f64; 2]),
    /// A name or a path.
    Text(&'a str),
}

impl OptionValue<'_> {
    /// Reads a value of the same kind; the error says what is wanted.
    fn parse<'a>(&self, text: &'a str) -> Result<OptionValue<'a>, String> {
        let finite = |x: f64| match x.is_finite() {
            true => Ok(x),
            false => Err("a finite number is wanted".to_string()),
        };
        Ok(match self {
            Self::Flag(_) => OptionValue::Flag(bool::parse(&text.trim().to_lowercase())?),
            Self::Count(_) => match usize::parse(text)? {
                0 => return Err("1 or more is wanted".to_string()),
                count => OptionValue::Count(count),
            },
            Self::Number(_) => OptionValue::Number(finite(f64::parse(text)?)?),
            Self::Range(_) => {
                let bounds = text.trim().trim_matches('"').trim_matches(['[', ']', '(', ')']);
                match Vec::<f64>::parse(bounds)?.as_slice() {
                    &[low, high] if low <= high => OptionValue::Range([low, high]),
                    _ => return Err("two numbers are wanted, the smaller first, such as [0.2, 1.0]".to_string()),
                }
            }
            Self::Text(_) => match text.trim().trim_matches('"') {
                name if name.is_empty() && *self != Self::Text("") => return Err("a name is wanted".to_string()),
                name => OptionValue::Text(name),
            },
        })
    }

    /// The value as TOML.
    ///
    /// ```
    /// use epgt_envs::OptionValue;
    /// assert_eq!(OptionValue::Range([0.7, f64::INFINITY]).show(), "[0.7, inf]");
    /// ```
    pub fn show(&self) -> String {
        match self {
            Self::Flag(flag) => flag.show(),
            Self::Count(count) => count.show(),
            Self::Number(number) => number.show(),
            Self::Range(bounds) => bounds.to_vec().show(),
            Self::Text(text) => text.to_string().show(),
        }
    }
}

/// What a number must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// Any finite number.
    Any,
    /// 0 or more.
    NotNegative,
    /// From 0 to 1.
    Share,
    /// Above the first and below the second.
    Between(f64, f64),
}

/// One option that a task takes.
#[derive(Clone, Debug)]
pub struct TaskOption {
    /// Gymnasium's name of it.
    pub name: &'static str,
    /// Its value where none is given.
    pub default: OptionValue<'static>,
    /// What it must be, where it is a number.
    pub limit: Limit,
    /// What it means.
    pub meaning: &'static str,
}

impl TaskOption {
    /// An option whose value may be any of its kind.
    pub const fn new(name: &'static str, default: OptionValue<'static>, meaning: &'static str) -> Self {
        Self {
            name,
            default,
            limit: Limit::Any,
            meaning,
        }
    }

    fn parse<'a>(&self, text: &'a str) -> Result<OptionValue<'a>, String> {
        let value = self.default.parse(text)?;
        match (&value, self.limit) {
            (OptionValue::Number(x), Limit::NotNegative) if *x < 0.0 => Err("0 or more is wanted".to_string()),
            (OptionValue::Number(x), Limit::Share) if !(0.0..=1.0).contains(x) => {
                Err("a number from 0 to 1 is wanted".to_string())
            }
            (OptionValue::Number(x), Limit::Between(low, high)) if !(low < *x && *x < high) => {
                Err(format!("a number between {low} and {high} is wanted"))
            }
            _ => Ok(value),
        }
    }
}

/// The options of a task: what it takes, and what was given.
#[derive(Clone, Debug)]
pub struct Options {
    /// What the task takes.
    pub declared: Arc<[TaskOption]>,
    /// Names and texts, which have been tried.
    given: Vec<(String, String)>,
    /// Whether it takes more than is declared: keyword arguments that only its worker knows.
    takes_more: bool,
}

impl Options {
    /// Nothing is given yet.
    pub(crate) fn of(declared: impl Into<Arc<[TaskOption]>>) -> Self {
        Self {
            declared: declared.into(),
            given: Vec::new(),
            takes_more: false,
        }
    }

    /// The same, of a foreign task, which takes more than is declared.
    #[cfg(feature = "gymnasium")]
    pub(crate) fn and_more(self) -> Self {
        Self {
            takes_more: true,
            ..self
        }
    }

    /// Gives one option a value.
    pub(crate) fn set(&mut self, task: &str, name: &str, text: &str) -> Result<(), EnvError> {
        let declared = self.declared.iter().find(|option| option.name == name);
        if declared.is_none() && self.takes_more {
            self.keep(name, text.trim().to_string());
            return Ok(());
        }
        let option = declared.ok_or_else(|| {
            let names: Vec<&str> = self.declared.iter().map(|option| option.name).collect();
            EnvError::InvalidOption(match names.is_empty() {
                true => format!("{task} takes no options, so '{name}' cannot be set"),
                false => epgt_settings::unknown(&format!("option of {task}"), name, &names),
            })
        })?;
        let value = option
            .parse(text)
            .map_err(|wants| EnvError::InvalidOption(format!("{name} = {text} cannot be used: {wants}")))?;
        // A value that is the default changes nothing, so it is as if it had not been given.
        if value == option.default {
            self.given.retain(|(given, _)| given != name);
            return Ok(());
        }
        let text = match value {
            OptionValue::Text(text) => text.to_string(),
            other => other.show(),
        };
        self.keep(name, text);
        Ok(())
    }

    fn keep(&mut self, name: &str, text: String) {
        self.given.retain(|(given, _)| given != name);
        self.given.push((name.to_string(), text));
        self.given.sort();
    }

    /// Names and texts of a foreign task's own keyword arguments.
    pub fn undeclared(&self) -> impl Iterator<Item = (&str, &str)> {
        let own = |name: &str| self.declared.iter().all(|option| option.name != name);
        let given = self.given.iter().filter(move |(name, _)| own(name));
        given.map(|(name, text)| (name.as_str(), text.as_str()))
    }

    /// What a worker is told: a foreign task's own keyword arguments, or else all that is declared, but for what is the
    /// program's own.
    #[cfg(feature = "gymnasium")]
    pub(crate) fn for_worker(&self) -> Vec<(&str, String)> {
        if self.takes_more {
            return self.undeclared().map(|(name, text)| (name, text.to_string())).collect();
        }
        let told = self.all().filter(|(option, _)| option.name != "bridge_timeout");
        told.map(|(option, value)| (option.name, value.show())).collect()
    }

    /// Every option with its value, in the order of declaration.
    pub fn all(&self) -> impl Iterator<Item = (&TaskOption, OptionValue<'_>)> {
        self.declared.iter().map(|option| (option, self.value(option.name)))
    }

    /// The options whose value is not the default, as names and texts.
    pub fn changed(&self) -> Vec<(String, String)> {
        self.given.clone()
    }

    /// The value of a declared option.
    fn value(&self, name: &str) -> OptionValue<'_> {
        let option = self.declared.iter().find(|option| option.name == name);
        let option = option.expect("a task asks for options that it declares");
        let given = self.given.iter().find(|(given, _)| given == name);
        given.map_or(option.default, |(_, text)| {
            option.parse(text).expect("it was tried when it was given")
        })
    }

    /// Whether a flag is set.
    ///
    /// # Panics
    /// Like [`number`](Options::number) and [`count`](Options::count), where the task declares no such option of this
    /// kind.
    pub fn flag(&self, name: &str) -> bool {
        self.value(name) == OptionValue::Flag(true)
    }

    /// The value of an option that is a number.
    pub fn number(&self, name: &str) -> f64 {
        match self.value(name) {
            OptionValue::Number(number) => number,
            other => unreachable!("{name} is declared as {other:?}"),
        }
    }

    /// The value of an option that is a count.
    pub fn count(&self, name: &str) -> usize {
        match self.value(name) {
            OptionValue::Count(count) => count,
            other => unreachable!("{name} is declared as {other:?}"),
        }
    }

    /// The text of an option, if the task declares it.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.declared.iter().find(|option| option.name == name)?;
        match self.value(name) {
            OptionValue::Text(text) => Some(text),
            other => unreachable!("{name} is declared as {other:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DECLARED: &[TaskOption] = &[
        TaskOption::new("flag", OptionValue::Flag(false), ""),
        TaskOption::new("count", OptionValue::Count(5), ""),
        TaskOption {
            limit: Limit::NotNegative,
            ..TaskOption::new("scale", OptionValue::Number(0.1), "")
        },
        TaskOption::new("range", OptionValue::Range([0.2, 1.0]), ""),
        TaskOption::new("file", OptionValue::Text("ant.xml"), ""),
    ];

    /// What is shown of an option that was set.
    fn set(name: &str, text: &str) -> Result<String, String> {
        let mut options = Options::of(DECLARED);
        options.set("Task-v1", name, text).map_err(|error| error.to_string())?;
        Ok(options.value(name).show())
    }

    #[test]
    fn what_is_shown_reads_back_to_the_same_value() {
        for (name, text, shown) in [
            ("flag", "True", "true"),
            ("count", "1e1", "10"),
            ("scale", "1e-3", "0.001"),
            ("range", "(-inf, 3)", "[-inf, 3.0]"),
            ("file", "./my model.xml", "\"./my model.xml\""),
        ] {
            assert_eq!(set(name, text).as_deref(), Ok(shown));
            assert_eq!(set(name, shown).as_deref(), Ok(shown));
        }
    }

    #[test]
    fn a_value_that_is_the_default_changes_nothing() {
        let mut options = Options::of(DECLARED);
        options.set("Task-v1", "count", "7").unwrap();
        assert_eq!(options.changed(), [("count".to_string(), "7".to_string())]);
        options.set("Task-v1", "count", "5").unwrap();
        assert!(options.changed().is_empty());
    }

    #[test]
    fn impossible_values_are_refused_in_one_sentence() {
        let refused = |name: &str, text: &str| set(name, text).unwrap_err();
        assert_eq!(
            refused("cuont", "3"),
            "unknown option of Task-v1 'cuont'; did you mean 'count'?"
        );
        assert_eq!(
            refused("flag", "maybe"),
            "flag = maybe cannot be used: true or false is wanted"
        );
        assert_eq!(refused("count", "0"), "count = 0 cannot be used: 1 or more is wanted");
        assert_eq!(refused("scale", "-1"), "scale = -1 cannot be used: 0 or more is wanted");
        assert_eq!(
            refused("scale", "nan"),
            "scale = nan cannot be used: a finite number is wanted"
        );
        for wrong in ["[1, 0]", "1", "[nan, 1]", "[1, 2, 3]"] {
            assert!(refused("range", wrong).contains("the smaller first"), "{wrong}");
        }
        assert_eq!(refused("file", ""), "file =  cannot be used: a name is wanted");
    }
}
