//! The resolved configuration of a run: what the user said, on top of what is known to work for the task.
//!
//! Layers, later ones win: the settings' own defaults, the tuned defaults of the task, the preset, then every
//! assignment of the user in order (configuration file, flags, `--set`). All of them are `key = value` pairs over the
//! same documented settings, and the result is written into the run directory as a complete commented TOML.

mod error;
mod extent;

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

use epgt_hyper::{Axis, Choosing, Epgt, FixedAt, Grid, HyperSettings, HyperSpace};
use epgt_pg::{
    A2cSettings, HoofSettings, MetaGradientSettings, MethodSettings, NoiseControl, PolicySettings, StepControl,
};
use epgt_settings::{Entry, SettingError, Settings, Value};

use crate::defaults::{self, Origin};
use crate::population::PopulationSettings;
use crate::registry::Registry;
use crate::scheduler::Scheduler;
use crate::settings::{Assignment, Defaults, Name, Preset, RewardSettings, RunSettings};

pub use error::ConfigError;

/// The most environment steps of a run; it keeps products of counts far from what a number holds.
const MOST_STEPS: u64 = 10_000_000_000_000;

/// The most episodes of an evaluation.
const MOST_EPISODES: usize = 100_000;

/// The least T that rows are divided into where there are many environments.
const SHORTEST_ROLLOUT: u64 = 8;

/// How many times less and more noise groups of environments act with where that is compared.
const SPREAD: f64 = 1.5;
/// The most that it may be.
const WIDEST: f64 = 10.0;

/// The most memory of a run. What no usual machine can hold is refused, instead of running out of memory later.
const MOST_GIGABYTES: f64 = 16.0;

/// Everything that decides what a run does.
#[derive(Clone, Debug)]
pub struct Config {
    /// What it can name.
    pub registry: Arc<Registry>,
    /// The run itself.
    pub run: RunSettings,
    /// The networks.
    pub policy: PolicySettings,
    /// The policy-gradient method.
    pub method: Box<dyn MethodSettings>,
    /// Who schedules the hyperparameters.
    pub scheduler: Scheduler,
    /// What the hyper-agent is rewarded with.
    pub reward: RewardSettings,
    /// The hyper-agent.
    pub hyper: HyperSettings,
    /// The scheduler `hoof`.
    pub hoof: HoofSettings,
    /// The scheduler `meta-gradient`.
    pub meta: MetaGradientSettings,
    /// The population, for the schedulers that take several runs.
    pub population: PopulationSettings,
    /// The scheduled hyperparameters with their grids as text.
    pub tune: Vec<(String, String)>,
    /// The options of the task that are not its defaults.
    pub env: Vec<(String, String)>,
    /// Where values come from that are not the same for every task, by their full keys.
    origins: HashMap<String, Origin>,
}

impl Config {
    /// Lays the assignments upon the defaults of their task and preset, and checks the result.
    ///
    /// ```
    /// use epgt_train::{Assignment, Config};
    /// let config = Config::build(&[Assignment::new("task", "CartPole-v1"), Assignment::new("a2c.gamma", 0.9)])?;
    /// assert_eq!(config.method.gamma(), 0.9);
    /// let error = Config::build(&[Assignment::new("task", "CartPole-v1"), Assignment::new("gama", 0.9)]).unwrap_err();
    /// assert_eq!(error.to_string(), "unknown setting 'gama'; did you mean 'a2c.gamma'?");
    /// # Ok::<(), epgt_train::ConfigError>(())
    /// ```
    pub fn build(assignments: &[Assignment]) -> Result<Self, ConfigError> {
        Self::build_in(&Registry::builtin(), assignments)
    }

    /// [`build`](Self::build) where more can be named than the program's own tasks, methods, schedulers and
    /// hyper-rewards.
    pub fn build_in(registry: &Arc<Registry>, assignments: &[Assignment]) -> Result<Self, ConfigError> {
        let config = Self::lay_in(registry, assignments)?;
        config.validate()?;
        Ok(config)
    }

    /// The layers without the final check: enough to print a configuration.
    pub fn lay(assignments: &[Assignment]) -> Result<Self, ConfigError> {
        Self::lay_in(&Registry::builtin(), assignments)
    }

    fn lay_in(registry: &Arc<Registry>, assignments: &[Assignment]) -> Result<Self, ConfigError> {
        let mut config = Self {
            registry: registry.clone(),
            run: RunSettings::default(),
            policy: PolicySettings::default(),
            method: Box::new(A2cSettings::default()),
            scheduler: Scheduler::HyperAgent(Arc::new(Epgt)),
            reward: RewardSettings::default(),
            hyper: HyperSettings::default(),
            hoof: HoofSettings::default(),
            meta: MetaGradientSettings::default(),
            population: PopulationSettings::default(),
            tune: Vec::new(),
            env: Vec::new(),
            origins: HashMap::new(),
        };
        // What is said of these decides the layers below all other assignments.
        const DECISIVE: [&str; 4] = ["task", "algo", "preset", "defaults"];
        let decisive = |key: &str| {
            let mut said = assignments.iter().filter(|assignment| assignment.key == key);
            said.next_back()
        };
        for key in DECISIVE {
            if let Some(assignment) = decisive(key) {
                config.run.assign(key, &assignment.value)?;
            }
        }
        if decisive("defaults").is_none() && config.run.preset == Preset::Paper {
            config.run.defaults = Defaults::Task;
            config.origins.insert("defaults".to_string(), Origin::Preset);
        }
        if decisive("algo").is_none() && !config.run.task.is_empty() {
            config.run.algo = Name::new(defaults::algorithm(&config.run.task));
        }
        let named = registry.method(config.run.algo.name());
        config.method = named.map_err(|unknown| SettingError::value("algo", config.run.algo.name(), unknown))?;
        if !config.run.task.is_empty() {
            registry.task(&config.run.task)?;
            // What a foreign task is like can be said once its options are known.
            for assignment in assignments.iter().filter(|said| said.key.starts_with("env.")) {
                config.assign(&assignment.key, &assignment.value)?;
            }
            for (origin, key, value) in defaults::of(&config.task()?, config.run.algo.name(), config.run.defaults) {
                config.assign(key, &value)?;
                let key = config.qualify(key)?;
                config.origins.extend(origin.map(|origin| (key, origin)));
            }
        }
        if config.run.preset == Preset::Paper {
            config.hyper = HyperSettings::paper();
            config.reward.outcome = Name::new("discounted");
            config.run.staggered_starts = false;
            let hyper = config.hyper.entries().into_iter().chain(config.reward.entries());
            let of_preset = hyper.map(|entry| format!("hyper.{}", entry.key));
            let keys = of_preset.chain(["staggered_starts".to_string()]);
            config.origins.extend(keys.map(|key| (key, Origin::Preset)));
        }
        for assignment in assignments {
            if !DECISIVE.contains(&assignment.key.as_str()) {
                config.assign(&assignment.key, &assignment.value)?;
            }
            if !assignment.key.starts_with("env.") && !assignment.key.starts_with("tune.") {
                let key = config.qualify(&assignment.key)?;
                config.origins.insert(key, Origin::Said);
            }
        }
        if !config.run.task.is_empty() {
            config.settle_env()?;
            config.settle_by_rule()?;
        }
        config.settle_steps(assignments)?;
        config.settle_noise(assignments)?;
        // One order, however the user wrote them: it decides what a joint hyper-action's number means.
        config
            .tune
            .sort_by_key(|(name, _)| config.method.index(name).unwrap_or(usize::MAX));
        Ok(config)
    }

    /// Decides, where it was not said, what the setting that is one for every task has rules for: how far ahead is looked
    /// by the length of an episode, and the length of a rollout by the number of environments and the steps of the run.
    fn settle_by_rule(&mut self) -> Result<(), ConfigError> {
        let (task, method) = (self.task()?, self.method.name());
        if !defaults::is_one_setting(&task, method, self.run.defaults) {
            return Ok(());
        }
        let gamma = format!("{method}.gamma");
        if !self.origins.contains_key(&gamma) {
            self.assign(&gamma, &defaults::discount(task.episode_limit()).to_string())?;
            self.origins.insert(gamma, Origin::Properties);
        }
        let n_steps = format!("{method}.n_steps");
        if let Some(rows) = defaults::rows(method, self.run.steps)
            && !self.origins.contains_key(&n_steps)
        {
            let steps = (rows / self.run.n_envs.max(1) as u64).max(SHORTEST_ROLLOUT);
            self.assign(&n_steps, &steps.to_string())?;
            self.origins.insert(n_steps, Origin::Run);
        }
        Ok(())
    }

    /// Decides, where it was not said, what says how long steps are and what is scheduled. Steps are measured by how far
    /// they move the policy, and the multiplier of that is scheduled; but whoever schedules the learning rate works with
    /// rates, and so do the paper's preset and the schedulers that know nothing else.
    fn settle_steps(&mut self, assignments: &[Assignment]) -> Result<(), ConfigError> {
        let is_control = |said: &Assignment| said.key == "step_control" || said.key.ends_with(".step_control");
        let has_control = self.method.entries().iter().any(|entry| entry.key == "step_control");
        let said = assignments.iter().any(is_control);
        let tunes_rate = self.tune.iter().any(|(name, _)| name == "learning_rate");
        let wants_rate = self.run.preset == Preset::Paper || self.scheduler.is_rule() || !self.may_schedule("step");
        if has_control && !said && !wants_rate && !tunes_rate {
            self.method.assign("step_control", StepControl::Divergence.name())?;
        }
        if self.tune.is_empty() {
            let rates = match has_control {
                true => !self.method.idle().contains(&"learning_rate"),
                false => wants_rate,
            };
            let (name, grid) = match rates {
                true => ("learning_rate", "paper:7"),
                false => ("step", epgt_pg::STEP.grid),
            };
            self.tune.push((name.to_string(), grid.to_string()));
        }
        Ok(())
    }

    /// Decides, where it was not said, what a hyper-agent that schedules the noise alone is rewarded with: the comparison
    /// of environments that act with less and with more of it, as it is.
    fn settle_noise(&mut self, assignments: &[Assignment]) -> Result<(), ConfigError> {
        let alone = matches!(&self.tune[..], [(name, _)] if name == "noise");
        let said = |key: &str| {
            assignments
                .iter()
                .any(|said| said.key == key || said.key.ends_with(&format!(".{key}")))
        };
        if alone && !said("outcome") && !said("transform") && self.run.preset == Preset::Default {
            self.assign("hyper.outcome", "noise")?;
            self.assign("hyper.transform", "raw")?;
        }
        Ok(())
    }

    /// How many times less and more noise than the policy's own groups of environments act with; 1 is all alike.
    pub fn noise_spread(&self) -> f64 {
        let is_kept = self.scheduler.of_agent().about().choosing == Choosing::Kept;
        let schedules = !is_kept && self.tune.iter().any(|(name, _)| name == "noise");
        let compares = schedules || self.run.noise_control == NoiseControl::Greedy;
        self.run.noise_spread.unwrap_or(if compares { SPREAD } else { 1.0 })
    }

    /// Whether the method has this hyperparameter and the scheduler takes it.
    fn may_schedule(&self, name: &str) -> bool {
        let axis = Axis::new(name, 1.0, &Grid::List(vec![1.0, 2.0]), true);
        let space = axis.and_then(|axis| HyperSpace::new(vec![axis], self.hyper.max_actions));
        self.method.index(name).is_ok() && space.is_ok_and(|space| self.scheduler.of_agent().check(&space).is_ok())
    }

    /// Reads the assignments of a run's stored configuration. In one from before steps could be measured by divergence
    /// they are measured by rates; in one from before there was one setting for every task, what it does not say is what
    /// it was for the task.
    pub fn read_stored(text: &str) -> Result<Vec<Assignment>, ConfigError> {
        let mut said = Self::read_toml(text)?;
        if !said.iter().any(|assignment| assignment.key == "defaults") {
            said.push(Assignment::new("defaults", Defaults::Task.name()));
        }
        for method in ["a2c", "ppo"] {
            let (section, control) = (format!("{method}."), format!("{method}.step_control"));
            let is_older = !said.iter().any(|assignment| assignment.key == control);
            if is_older && said.iter().any(|assignment| assignment.key.starts_with(&section)) {
                said.push(Assignment::new(control, StepControl::Rate.name()));
            }
        }
        Ok(said)
    }

    /// Reads the assignments of a TOML file.
    pub fn read_toml(text: &str) -> Result<Vec<Assignment>, ConfigError> {
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            let line = error
                .span()
                .map_or(1, |span| text[..span.start.min(text.len())].lines().count().max(1));
            let message = error.message().to_string();
            ConfigError::Toml { line, message }
        })?;
        let mut assignments = Vec::new();
        for (key, value) in &table {
            match value {
                toml::Value::Table(section) => {
                    let pairs = section.iter().map(|(name, value)| (format!("{key}.{name}"), value));
                    assignments.extend(pairs.map(|(key, value)| Assignment::new(key, toml_text(value))));
                }
                value => assignments.push(Assignment::new(key, toml_text(value))),
            }
        }
        Ok(assignments)
    }

    /// Sets one setting by its dotted key.
    pub fn assign(&mut self, key: &str, value: &str) -> Result<(), ConfigError> {
        if let Some(name) = key.strip_prefix("env.") {
            self.assign_env(name, value);
            return Ok(());
        }
        if let Some(name) = key.strip_prefix("tune.") {
            let grid = value
                .trim_matches('"')
                .trim_matches(['[', ']'])
                .replace(',', ":")
                .replace(' ', "");
            match self.tune.iter_mut().find(|(known, _)| known == name) {
                Some((_, old)) => *old = grid,
                None => self.tune.push((name.to_string(), grid)),
            }
            return Ok(());
        }
        let qualified = self.qualify(key)?;
        let (section, result) = match qualified.split_once('.') {
            Some(("policy", name)) => ("policy", self.policy.assign(name, value)),
            Some((section, name)) if section == self.method.name() => {
                (self.method.name(), self.method.assign(name, value))
            }
            Some(("hyper", "outcome")) => ("hyper", self.assign_outcome(value)),
            Some(("hyper", name)) => ("hyper", self.hyper.assign(name, value)),
            Some(("hoof", name)) => ("hoof", self.hoof.assign(name, value)),
            Some(("meta", name)) => ("meta", self.meta.assign(name, value)),
            Some(("population", name)) => ("population", self.population.assign(name, value)),
            None if qualified == "scheduler" => ("", self.assign_scheduler(value)),
            _ => ("", self.run.assign(&qualified, value)),
        };
        result.map_err(|error| ConfigError::Setting { section, error })
    }

    fn assign_scheduler(&mut self, value: &str) -> Result<(), SettingError> {
        let name = Name::read(value);
        let named = self.registry.scheduler(name.name());
        self.scheduler = named.map_err(|unknown| SettingError::value("scheduler", value, unknown))?;
        self.run.scheduler = name;
        Ok(())
    }

    fn assign_outcome(&mut self, value: &str) -> Result<(), SettingError> {
        let name = Name::read(value);
        let named = self.registry.hyper_reward(name.name());
        named.map_err(|unknown| SettingError::value("outcome", value, unknown))?;
        self.reward.outcome = name;
        Ok(())
    }

    /// Makes it the configuration of a run that keeps its values, whoever scheduled them before.
    pub(crate) fn keep_values(&mut self) {
        self.scheduler = Scheduler::HyperAgent(Arc::new(epgt_hyper::Fixed));
        self.run.scheduler = Name::new(self.scheduler.name());
        self.hyper.fixed_at = FixedAt::Default;
    }

    /// Refuses a setting that was said more than once, which would leave it to the order which of them holds. Each
    /// assignment comes with how it was said.
    ///
    /// ```
    /// use epgt_train::{Assignment, Config};
    /// let said = [("--steps 1000", "steps", "1000"), ("--set run.steps=2000", "run.steps", "2000")];
    /// let said = said.map(|(how, key, value)| (how.to_string(), Assignment::new(key, value)));
    /// assert_eq!(
    ///     Config::lay(&[])?.refuse_repeated(&said).unwrap_err().to_string(),
    ///     "steps is said twice, by --steps 1000 and by --set run.steps=2000; leave one of them out"
    /// );
    /// # Ok::<(), epgt_train::ConfigError>(())
    /// ```
    pub fn refuse_repeated(&self, said: &[(String, Assignment)]) -> Result<(), ConfigError> {
        let mut seen: HashMap<String, &String> = HashMap::new();
        for (how, Assignment { key, .. }) in said {
            let full = match key.starts_with("env.") || key.starts_with("tune.") {
                true => key.clone(),
                false => self.qualify(key)?,
            };
            if let Some(before) = seen.insert(full.clone(), how) {
                return Err(ConfigError::Repeated {
                    key: full,
                    first: before.clone(),
                    second: how.clone(),
                });
            }
        }
        Ok(())
    }

    /// The full key of a setting whose section may have been left out.
    fn qualify(&self, key: &str) -> Result<String, ConfigError> {
        let keys = self.keys();
        if keys.iter().any(|known| known == key) {
            return Ok(key.to_string());
        }
        let algo = self.run.algo.name();
        if let Some((section, name)) = key.split_once('.')
            && section != algo
            && self.registry.method(section).is_ok()
        {
            return Err(ConfigError::OfAnotherMethod {
                section: section.to_string(),
                name: name.to_string(),
                method: algo.to_string(),
            });
        }
        let ending = format!(".{key}");
        let matches: Vec<&String> = keys.iter().filter(|known| known.ends_with(&ending)).collect();
        match matches.as_slice() {
            [one] => Ok(one.to_string()),
            _ => {
                // Compare with the plain names too, so that a slip in an unqualified key is recognised.
                let plain = keys.iter().map(|known| known.rsplit('.').next().unwrap_or(known));
                let name = epgt_settings::nearest(key, keys.iter().map(String::as_str).chain(plain));
                let full = name.and_then(|name| {
                    keys.iter()
                        .find(|known| *known == name || known.ends_with(&format!(".{name}")))
                });
                Err(ConfigError::UnknownSetting {
                    key: key.to_string(),
                    nearest: full.cloned(),
                })
            }
        }
    }

    fn keys(&self) -> Vec<String> {
        self.sections()
            .into_iter()
            .flat_map(|(section, entries)| {
                let dot = if section.is_empty() { "" } else { "." };
                entries
                    .into_iter()
                    .map(move |entry| format!("{section}{dot}{}", entry.key))
            })
            .collect()
    }

    /// All settings by section; the run's own have none.
    pub fn sections(&self) -> Vec<(&str, Vec<Entry>)> {
        let mut run = self.run.entries();
        for entry in &mut run {
            match entry.key {
                "algo" => entry.choices = owned(self.registry.method_names()),
                "scheduler" => entry.choices = owned(self.registry.scheduler_names()),
                _ => {}
            }
        }
        let mut hyper = self.hyper.entries();
        // What is rewarded stands before what is made of it.
        let at = hyper.iter().position(|entry| entry.key == "transform").unwrap_or(0);
        let reward = self.reward.entries().into_iter().map(|entry| Entry {
            choices: owned(self.registry.hyper_reward_names()),
            ..entry
        });
        hyper.splice(at..at, reward);
        vec![
            ("", run),
            ("policy", self.policy.entries()),
            (self.run.algo.name(), self.method.entries()),
            ("hyper", hyper),
            ("hoof", self.hoof.entries()),
            ("meta", self.meta.entries()),
            ("population", self.population.entries()),
        ]
    }

    /// The complete configuration as commented TOML; reading it back gives the same configuration.
    pub fn to_toml(&self) -> String {
        self.toml(|_| None)
    }

    /// The same, saying of each value where it comes from.
    ///
    /// ```
    /// use epgt_train::{Assignment, Config};
    /// let said = [Assignment::new("task", "Pendulum-v1"), Assignment::new("a2c.ent_coef", 0.01)];
    /// let text = Config::build(&said)?.to_toml_with_origins();
    /// assert!(text.contains("# From the task's properties.\ngamma = 0.975\n"));
    /// assert!(text.contains("# As said.\nent_coef = 0.01\n"));
    /// # Ok::<(), epgt_train::ConfigError>(())
    /// ```
    pub fn to_toml_with_origins(&self) -> String {
        let universal = "# A value that does not say where it comes from is the same for every task.\n\n";
        universal.to_string() + &self.toml(|key| self.origins.get(key).copied())
    }

    fn toml(&self, origin: impl Fn(&str) -> Option<Origin>) -> String {
        let mut text = String::new();
        for (section, entries) in self.sections() {
            if !section.is_empty() {
                let _ = writeln!(text, "[{section}]");
            }
            for entry in entries {
                let symbol = if entry.symbol.is_empty() {
                    String::new()
                } else {
                    format!(" (paper: {})", entry.symbol)
                };
                for line in wrap(&format!("{}{symbol}", entry.meaning), 110) {
                    let _ = writeln!(text, "# {line}");
                }
                if !entry.choices.is_empty() {
                    let _ = writeln!(text, "# One of: {}", entry.choices.join(", "));
                }
                let dot = if section.is_empty() { "" } else { "." };
                if let Some(origin) = origin(&format!("{section}{dot}{}", entry.key)) {
                    let _ = writeln!(text, "# {}", origin.sentence());
                }
                let _ = writeln!(text, "{} = {}", entry.key, entry.value);
            }
            text.push('\n');
        }
        text.push_str(&self.env_toml());
        text.push_str("# The scheduled hyperparameters and their values: \"paper:B\", \"around:FACTOR:B\", \"log:LOW..HIGH:B\",\n");
        text.push_str("# \"uniform:LOW..HIGH:B\", or the values themselves, \"0:0.01:0.02\".\n[tune]\n");
        for (name, grid) in &self.tune {
            let _ = writeln!(text, "{name} = {}", grid.show());
        }
        text
    }

    /// Refuses what no run can be made of, in one sentence.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let run = &self.run;
        let task = self.task()?;
        if run.n_envs == 0 {
            return Err(SettingError::value("n_envs", "0", "at least one environment is needed").into());
        }
        let too_large = |name, value, most| ConfigError::TooLarge { name, value, most };
        if run.steps > MOST_STEPS {
            return Err(too_large("steps", run.steps, MOST_STEPS));
        }
        if run.eval_share.is_nan() || run.eval_share < 0.0 {
            let wants = "a share of the steps of training is wanted, 0 or more";
            return Err(SettingError::value("eval_share", run.eval_share.to_string(), wants).into());
        }
        if run.eval_max_steps == 0 {
            return Err(ConfigError::NoEvaluation("eval_max_steps"));
        }
        if run.eval_episodes == 0 {
            return Err(ConfigError::NoEvaluation("eval_episodes"));
        }
        for (name, episodes) in [
            ("eval_episodes", run.eval_episodes),
            ("final_episodes", run.final_episodes),
        ] {
            if episodes > MOST_EPISODES {
                return Err(too_large(name, episodes as u64, MOST_EPISODES as u64));
            }
        }
        let spread = self.noise_spread();
        if !(1.0..=WIDEST).contains(&spread) {
            let wants = format!("a number from 1 to {WIDEST} is wanted, or auto");
            return Err(SettingError::value("noise_spread", spread.to_string(), wants).into());
        }
        if spread > 1.0 && run.n_envs < 4 {
            let wants = "environments are compared that act with less and with more noise: at least 4 are needed";
            return Err(SettingError::value("n_envs", run.n_envs.to_string(), wants).into());
        }
        if run.log_interval == Some(0) {
            return Err(SettingError::value("log_interval", "0", "use at least one rollout's steps").into());
        }
        let of_section = |section| move |error| ConfigError::Method { section, error };
        let policy = self.policy.validate().and_then(|()| self.policy.validate_for(&task));
        policy.map_err(of_section("policy"))?;
        self.method.validate().map_err(of_section(self.method.name()))?;
        self.hyper.validate().map_err(ConfigError::Hyper)?;
        if let Some((name, _)) = self
            .tune
            .iter()
            .find(|(name, _)| self.method.idle().contains(&&name[..]))
        {
            return Err(ConfigError::Idle(name.clone()));
        }
        if let Some((rule, tuned)) = self.rule()? {
            rule.check(&*self.method, &tuned)?;
        }
        self.population.validate(self)?;
        self.check_method()
    }
}

/// Configurations that print alike are alike.
impl PartialEq for Config {
    fn eq(&self, other: &Self) -> bool {
        self.registry == other.registry && self.to_toml() == other.to_toml()
    }
}

fn owned(names: Vec<&str>) -> Vec<String> {
    names.into_iter().map(String::from).collect()
}

fn toml_text(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        // In digits a large number would be hundreds of them.
        toml::Value::Float(number) => format!("{number:?}"),
        other => other.to_string(),
    }
}

/// Breaks a text into lines of at most `width` characters.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.len() - 1;
        if !lines[last].is_empty() && lines[last].len() + 1 + word.len() > width {
            lines.push(word.to_string());
        } else {
            if !lines[last].is_empty() {
                lines[last].push(' ');
            }
            lines[last].push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(pairs: &[(&str, &str)]) -> Result<Config, ConfigError> {
        let mut assignments = vec![Assignment::new("task", "CartPole-v1")];
        assignments.extend(pairs.iter().map(|(key, value)| Assignment::new(*key, value)));
        Config::build(&assignments)
    }

    #[test]
    fn the_printed_configuration_reads_back_to_the_same() {
        let config = with(&[
            ("preset", "paper"),
            ("hyper.hold", "phase"),
            ("tune.learning_rate", "log:1e-4..5e-3:7"),
            ("tune.ent_coef", "[0, 0.01, 0.02]"),
            ("policy.hidden", "[64,64]"),
            ("log_interval", "500"),
        ])
        .unwrap();
        let again = Config::build(&Config::read_toml(&config.to_toml()).unwrap()).unwrap();
        assert_eq!(again, config);
    }

    #[test]
    fn the_preset_lies_below_what_the_user_says_wherever_it_stands() {
        let config = with(&[("hyper.hold", "7"), ("preset", "paper")]).unwrap();
        assert_eq!(config.hyper.hold, epgt_hyper::Hold::Updates(7));
        assert_eq!(config.hyper.encoder, epgt_hyper::EncoderKind::Vae);
    }

    /// What says how long steps are, and what is scheduled.
    fn steps(pairs: &[(&str, &str)]) -> (String, String) {
        let config = with(pairs).unwrap();
        let entries = config.method.entries();
        let control = entries.iter().find(|entry| entry.key == "step_control");
        let tuned: Vec<&str> = config.tune.iter().map(|(name, _)| name.as_str()).collect();
        (
            control.map_or("none".to_string(), |entry| entry.value.replace('"', "")),
            tuned.join(" "),
        )
    }

    #[test]
    fn steps_are_measured_by_divergence_unless_somebody_works_with_rates() {
        let (divergence, rate) = ("divergence".to_string(), "rate".to_string());
        let of = |control: &String, tuned: &str| (control.clone(), tuned.to_string());
        assert_eq!(steps(&[]), of(&divergence, "step"));
        assert_eq!(steps(&[("algo", "ppo")]), of(&divergence, "step"));
        assert_eq!(steps(&[("algo", "acktr")]), ("none".to_string(), "step".to_string()));
        assert_eq!(steps(&[("a2c.learning_rate", "1e-2")]), of(&divergence, "step"));
        assert_eq!(steps(&[("tune.gamma", "0.9:0.99")]), of(&divergence, "gamma"));
        assert_eq!(
            steps(&[("step_control", "kl-adaptive")]),
            of(&"kl-adaptive".to_string(), "step")
        );
        assert_eq!(steps(&[("step_control", "rate")]), of(&rate, "learning_rate"));
        assert_eq!(steps(&[("tune.learning_rate", "paper:3")]), of(&rate, "learning_rate"));
        assert_eq!(steps(&[("preset", "paper")]), of(&rate, "learning_rate"));
        assert_eq!(
            steps(&[("preset", "paper"), ("step_control", "divergence")]),
            of(&divergence, "step")
        );
        for scheduler in ["hoof", "meta-gradient", "lrrl"] {
            assert_eq!(steps(&[("scheduler", scheduler)]), of(&rate, "learning_rate"));
        }
    }

    /// The value of a setting, as it is printed.
    fn value(config: &Config, section: &str, key: &str) -> String {
        let sections = config.sections();
        let (_, entries) = sections.iter().find(|(name, _)| *name == section).unwrap();
        entries.iter().find(|entry| entry.key == key).unwrap().value.clone()
    }

    #[test]
    fn every_method_has_one_setting_for_every_task_and_looks_ahead_by_the_length_of_an_episode() {
        for algo in ["ppo", "a2c", "acktr"] {
            one_setting_of(algo);
        }
    }

    fn one_setting_of(algo: &str) {
        let of = |task: &str| with(&[("task", task), ("algo", algo)]).unwrap();
        let gamma = |task: &str| of(task).method.gamma();
        assert_eq!((gamma("Pendulum-v1"), gamma("CartPole-v1")), (0.975, 0.99));
        assert_eq!(
            (gamma("HalfCheetah-v4"), gamma("BipedalWalker-v3")),
            (0.995, 1.0 - 5.0 / 1600.0)
        );
        let rest = |task: &str| {
            let config = of(task);
            let mut method = config.method.entries();
            method.retain(|entry| entry.key != "gamma");
            (method, config.policy.entries(), config.run.n_envs)
        };
        let usual = rest("HalfCheetah-v4");
        let is_usual = |task: &&epgt_envs::TaskSpec| task.image.is_none() && epgt_envs::family(&task.id) != "Swimmer";
        for task in epgt_envs::tasks().iter().filter(is_usual) {
            assert_eq!(rest(&task.id), usual, "{}", task.id);
        }
        // The one task with an exception of its own, which says so.
        let swimmer = of("Swimmer-v4").to_toml_with_origins();
        assert!(
            swimmer.contains("# From the task's name.\ngamma = 0.9999\n"),
            "{swimmer}"
        );
        assert!(
            of("Pendulum-v1")
                .to_toml_with_origins()
                .contains("# From the task's properties.\ngamma = 0.975\n")
        );
        for (length, expected) in [(20, 0.75), (5000, 0.999), (u32::MAX, 0.995)] {
            let make = epgt_envs::classic::Pendulum::new;
            let task = epgt_envs::TaskSpec::new("Own-v0", make).with_max_episode_steps(length);
            let registry = Arc::new(Registry::new().with_task(task));
            let said = [("task", "Own-v0"), ("algo", algo)].map(|(key, value)| Assignment::new(key, value));
            let config = Config::build_in(&registry, &said).unwrap();
            assert_eq!(config.method.gamma(), expected, "{length}");
            assert_eq!(
                (config.method.entries().len(), config.policy.entries()),
                (usual.0.len() + 1, usual.1.clone())
            );
        }
    }

    #[test]
    fn a_rollout_has_as_many_rows_for_any_number_of_environments_and_short_runs_have_shorter_ones() {
        let n_steps = |algo: &str, n_envs: &str, steps: &str| {
            let config = with(&[("algo", algo), ("n_envs", n_envs), ("steps", steps)]).unwrap();
            config.method.n_steps()
        };
        for (algo, rows) in [("a2c", 256), ("acktr", 256), ("ppo", 2048)] {
            for n_envs in ["1", "8", "16", "5"] {
                let n: usize = n_envs.parse().unwrap();
                assert_eq!(n_steps(algo, n_envs, "1e6"), rows / n, "{algo} {n_envs}");
            }
        }
        // The longest phases of which there are 32.
        let of_ppo = [
            ("65536", 256),
            ("65535", 128),
            ("20000", 64),
            ("16383", 32),
            ("4000", 16),
        ];
        for (steps, expected) in of_ppo {
            assert_eq!(n_steps("ppo", "8", steps), expected, "{steps}");
        }
        let of_a2c = [("8", "1024", 32), ("8", "1000", 16), ("2", "200", 16)];
        for (n_envs, steps, expected) in of_a2c {
            assert_eq!(n_steps("a2c", n_envs, steps), expected, "{n_envs} {steps}");
        }
        let text = with(&[("algo", "ppo")]).unwrap().to_toml_with_origins();
        assert!(text.contains("# From the run's steps and the number of its environments.\nn_steps = 256\n"));
        let said = with(&[("algo", "ppo"), ("steps", "20000"), ("ppo.n_steps", "100")]).unwrap();
        assert_eq!(said.method.n_steps(), 100);
        let by_task = with(&[("algo", "ppo"), ("steps", "20000"), ("defaults", "task")]).unwrap();
        assert_eq!(by_task.method.n_steps(), 128);
    }

    #[test]
    fn the_length_of_episodes_is_measured_where_a_task_tells_none() {
        use epgt_envs::{Env, TaskSpec, TimeLimit, classic::CartPole, classic::Pendulum};
        let gamma = |task: TaskSpec, more: &[(&str, &str)]| {
            let id = task.id.to_string();
            let registry = Arc::new(Registry::new().with_task(task));
            let said = [("task", &id[..]), ("algo", "ppo")];
            let said: Vec<_> = said
                .iter()
                .chain(more)
                .map(|(key, value)| Assignment::new(*key, value))
                .collect();
            Config::build_in(&registry, &said).unwrap().method.gamma()
        };
        let cut = |limit| {
            let make = move |_: &epgt_envs::Options| {
                Ok(Box::new(TimeLimit::new(Box::new(Pendulum::new()), limit)) as Box<dyn Env>)
            };
            TaskSpec::configurable("Cut-v0", [], make).unwrap()
        };
        assert_eq!(gamma(cut(50), &[]), 0.9);
        // What takes longer than is looked at, or ends by itself, is taken to last 1000 steps.
        assert_eq!(gamma(cut(5000), &[]), 0.995);
        assert_eq!(gamma(TaskSpec::new("Falls-v0", CartPole::new), &[]), 0.995);
        assert_eq!(gamma(cut(50), &[("ppo.gamma", "0.8")]), 0.8);
    }

    #[test]
    fn what_was_tuned_by_name_is_there_for_who_asks_for_it_and_for_the_paper() {
        for said in [("defaults", "task"), ("preset", "paper")] {
            let config = with(&[("task", "LunarLander-v3"), ("algo", "ppo"), said]).unwrap();
            assert_eq!((config.run.n_envs, config.method.gamma()), (4, 0.999), "{said:?}");
            assert_eq!(value(&config, "policy", "action_unit"), "\"task\"");
        }
        // A configuration that was stored before there was one setting means the task's.
        let stored = "task = \"HalfCheetah-v4\"\nalgo = \"ppo\"\n[ppo]\ngamma = 0.9\n";
        let config = Config::build(&Config::read_stored(stored).unwrap()).unwrap();
        assert_eq!((config.run.n_envs, config.method.gamma()), (1, 0.9));
        assert_eq!(value(&config, "policy", "log_std_init"), "0.0");
    }

    #[test]
    fn what_decides_nothing_cannot_be_scheduled() {
        let refused = |pairs: &[(&str, &str)]| with(pairs).unwrap_err().to_string();
        assert_eq!(
            refused(&[("step_control", "divergence"), ("tune.learning_rate", "paper:3")]),
            "learning_rate decides nothing with this step_control; tune step instead, or set step_control=rate"
        );
        assert!(
            refused(&[("step_control", "rate"), ("tune.critic_learning_rate", "paper:3")])
                .ends_with("or set step_control=divergence")
        );
        assert_eq!(
            refused(&[("step_control", "divergence"), ("scheduler", "hoof")]),
            "the scheduler hoof works with learning rates: set step_control=rate, or take another scheduler"
        );
        assert!(refused(&[("target_divergence", "0")]).starts_with("a2c.target_divergence = 0 cannot be used"));
    }

    #[test]
    fn a_configuration_stored_before_steps_could_be_measured_works_with_rates() {
        let lines = |text: String| -> String {
            let kept = text.lines().filter(|line| !line.contains("step_control"));
            kept.map(|line| format!("{line}\n")).collect()
        };
        for (tuned, algo) in [("gamma", "a2c"), ("clip_range", "ppo")] {
            let tune = format!("tune.{tuned}");
            let older = lines(with(&[("algo", algo), (&tune, "0.5:0.9")]).unwrap().to_toml());
            let config = Config::build(&Config::read_stored(&older).unwrap()).unwrap();
            assert!(!config.method.idle().contains(&"learning_rate"), "{algo}");
        }
    }

    #[test]
    fn impossible_settings_are_refused_with_the_nearest_name_or_the_reason() {
        let refused = |pairs: &[(&str, &str)]| with(pairs).unwrap_err().to_string();
        assert_eq!(
            refused(&[("task", "CartPole")]),
            "unknown task 'CartPole'; did you mean 'CartPole-v1'?"
        );
        assert!(refused(&[("algo", "a2")]).contains("did you mean 'a2c'?"));
        assert!(refused(&[("scheduler", "eptg")]).contains("did you mean 'epgt'?"));
        assert!(refused(&[("hyper.holdd", "3")]).contains("did you mean 'hyper.hold'?"));
        assert!(refused(&[("n_env", "3")]).contains("did you mean 'n_envs'?"));
        assert!(refused(&[("tune.learning_rat", "paper:3")]).contains("did you mean 'learning_rate'?"));
        assert!(refused(&[("n_envs", "0")]).contains("at least one environment"));
        assert!(refused(&[("eval_episodes", "1e9")]).contains("eval_episodes = 1000000000 is more than"));
        assert!(refused(&[("a2c.learning_rate", "-1e-3")]).contains("learning_rate = -0.001"));
        assert!(refused(&[("tune.learning_rate", "paper:4")]).contains("even"));
        assert!(refused(&[("steps", "10")]).contains("less than one rollout"));
        assert!(refused(&[("hyper.write_rate", "2")]).contains("write_rate = 2"));
        assert!(refused(&[("tune.gamma", "0.9:1.1")]).contains("gamma = 1.1"));
        for (key, value) in [
            ("a2c.n_steps", "18446744073709551615"),
            ("n_envs", "1e12"),
            ("policy.hidden", "[1e9, 1e9]"),
            ("policy.value_hidden", "[1e9, 1e9]"),
            ("hyper.key_dim", "1e12"),
            ("hyper.state_dim", "1e9"),
            ("hyper.order", "1e12"),
            ("hyper.neighbours", "1e12"),
        ] {
            assert!(refused(&[(key, value)]).contains("GB"), "{key}");
        }
        assert!(refused(&[("preset", "paper"), ("hyper.encoder_batch", "1e12")]).contains("GB"));
        assert!(
            Config::read_toml("steps = \n")
                .unwrap_err()
                .to_string()
                .contains("line 1")
        );
    }

    #[test]
    fn an_error_says_by_its_type_what_is_wrong() {
        let refused = |pairs: &[(&str, &str)]| with(pairs).unwrap_err();
        assert!(matches!(refused(&[("task", "CartPole")]), ConfigError::Task(_)));
        let unknown = ConfigError::UnknownSetting {
            key: "n_env".to_string(),
            nearest: Some("n_envs".to_string()),
        };
        assert_eq!(refused(&[("n_env", "3")]), unknown);
        let error = SettingError::value("hold", "0", "\"phase\" or a number of updates from 1 up is wanted");
        let section = "hyper";
        assert_eq!(refused(&[("hyper.hold", "0")]), ConfigError::Setting { section, error });
        assert!(matches!(refused(&[("hyper.write_rate", "2")]), ConfigError::Hyper(_)));
        assert!(matches!(
            refused(&[("a2c.gamma", "2")]),
            ConfigError::Method { section: "a2c", .. }
        ));
        // A value that is scheduled has the error of the same value that is set.
        let scheduled = refused(&[("tune.n_steps", "5:1000"), ("steps", "1000")]);
        let set = refused(&[("a2c.n_steps", "1000"), ("steps", "1000")]);
        let cause = std::error::Error::source(&scheduled).and_then(|cause| cause.downcast_ref());
        assert_eq!(cause, Some(&set));
    }
}
