//! The options of a run's task, in the configuration's `[env]`.
//!
//! A configuration keeps those that are not the task's defaults; the TOML of a run lists all of them.

use std::fmt::Write;

use epgt_envs::TaskSpec;
use epgt_settings::Value as _;

use crate::{Config, ConfigError};

impl Config {
    /// The task of the run, with its options.
    ///
    /// ```
    /// use epgt_train::{Assignment, Config};
    /// let said = [Assignment::new("task", "Pendulum-v1"), Assignment::new("env.g", 9.81)];
    /// let config = Config::build(&said)?;
    /// assert_eq!(config.task()?.label(), "Pendulum-v1 (g = 9.81)");
    /// # Ok::<(), epgt_train::ConfigError>(())
    /// ```
    pub fn task(&self) -> Result<TaskSpec, ConfigError> {
        let task = self.registry.task(&self.run.task)?;
        let options = self.env.iter().map(|(name, value)| (name, value));
        Ok(task.with(options)?)
    }

    /// Notes what the user says of an option; whether the task has it is checked when all is said.
    pub(crate) fn assign_env(&mut self, name: &str, value: &str) {
        // A run goes on, and its policy is played, from other directories too.
        let value = match std::path::absolute(value) {
            Ok(path) if name == "xml_file" && value.starts_with('.') => path.to_string_lossy().into_owned(),
            _ => value.to_string(),
        };
        self.env.retain(|(known, _)| known != name);
        self.env.push((name.to_string(), value));
    }

    /// Checks the options that were said, and forgets those that are the task's defaults.
    pub(crate) fn settle_env(&mut self) -> Result<(), ConfigError> {
        self.env = self.task()?.options.changed();
        Ok(())
    }

    /// The TOML of the options; empty where the task has none.
    pub(crate) fn env_toml(&self) -> String {
        let Ok(task) = self.task() else { return String::new() };
        if task.options.declared.is_empty() {
            return String::new();
        }
        let mut text = format!("# The options of {}.\n[env]\n", task.id);
        for (option, value) in task.options.all() {
            let _ = writeln!(text, "# {}.\n{} = {}", option.meaning, option.name, value.show());
        }
        for (name, value) in task.options.undeclared() {
            let _ = writeln!(text, "{name} = {}", value.to_string().show());
        }
        text + "\n"
    }
}

#[cfg(test)]
mod tests {
    use crate::{Assignment, Config, ConfigError};

    fn with(task: &str, options: &[(&str, &str)]) -> Result<Config, ConfigError> {
        let mut said = vec![Assignment::new("task", task)];
        let options = options
            .iter()
            .map(|(name, value)| Assignment::new(format!("env.{name}"), value));
        said.extend(options);
        Config::build(&said)
    }

    #[test]
    fn the_printed_options_read_back_to_the_same() {
        for (task, options) in [
            ("LunarLander-v3", &[("gravity", "-3.5"), ("enable_wind", "true")][..]),
            (
                "Hopper-v5",
                &[("healthy_z_range", "[0.5, inf]"), ("xml_file", "./a \"b\" c.xml")],
            ),
            ("Acrobot-v1", &[]),
        ] {
            let config = with(task, options).unwrap();
            assert_eq!(config.env.len(), options.len(), "{task}");
            let again = Config::build(&Config::read_toml(&config.to_toml()).unwrap()).unwrap();
            assert_eq!(again, config, "{task}");
        }
        let file = with("Hopper-v5", &[("xml_file", "./mine.xml")])
            .unwrap()
            .env
            .remove(0)
            .1;
        assert!(file.starts_with('/') && file.ends_with("/mine.xml"), "{file}");
    }

    #[test]
    fn options_of_another_task_are_refused() {
        let refused = |task, name| with(task, &[(name, "1")]).unwrap_err().to_string();
        assert_eq!(
            refused("LunarLander-v3", "gravty"),
            "unknown option of LunarLander-v3 'gravty'; did you mean 'gravity'?"
        );
        assert_eq!(
            refused("LunarLander-v3", "gravity"),
            "gravity = 1 cannot be used: a number between -12 and 0 is wanted"
        );
        assert_eq!(
            refused("Acrobot-v1", "g"),
            "Acrobot-v1 takes no options, so 'g' cannot be set"
        );
    }
}
