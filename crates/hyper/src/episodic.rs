//! The paper's method as a scheduler: keys of the present moment, and an episodic memory of what followed in similar
//! ones.

use std::borrow::Cow;

use crate::costs::Watch;
use crate::decision::Decision;
use crate::encoder::Encoder;
use crate::error::HyperError;
use crate::insight::Insight;
use crate::memory::{EpisodicMemory, Neighbour, Writing};
use crate::mind::{Mind, Need, SavedMind, Update, keep_up};
use crate::moment::Seen;
use crate::plan::Plan;
use crate::scheduler::{About, Purpose, Scheduler};
use crate::settings::HyperSettings;

/// The scheduler `epgt`.
#[derive(Clone, Copy, Debug)]
pub struct Epgt;

impl Scheduler for Epgt {
    fn about(&self) -> About {
        About {
            name: "epgt",
            help: "Episodic control: the paper's method.",
            does: "recalls the moments of training most like the present one and takes the choice that did best there",
            recalls: true,
            encodes: true,
            ..About::BLANK
        }
    }

    fn mind(&self, purpose: &Purpose<'_>) -> Box<dyn Mind> {
        let encoder = Encoder::new(purpose.settings, purpose.shapes, purpose.seed);
        let capacity = memory_capacity(purpose.settings, purpose.plan);
        let memory = |&size: &usize| EpisodicMemory::new(capacity, encoder.key_dim(), size);
        Box::new(Episodic {
            memories: purpose.groups.iter().map(memory).collect(),
            encoder,
            settings: purpose.settings.clone(),
        })
    }
}

/// Keys, and one memory per group.
#[derive(Debug)]
struct Episodic {
    encoder: Encoder,
    memories: Vec<EpisodicMemory>,
    settings: HyperSettings,
}

impl Mind for Episodic {
    fn look(&mut self, seen: &Seen<'_>, need: Need, q: &mut [f32]) -> Option<Vec<f32>> {
        let needed = need.values || need.key;
        let key = needed.then(|| self.encoder.key(seen).to_vec());
        self.encoder.remember(seen, needed);
        if let (true, Some(key)) = (need.values, &key) {
            let mut watch = Watch::start();
            let mut rest = q;
            for memory in &mut self.memories {
                let (group, others) = rest.split_at_mut(memory.n_actions());
                memory.read(key, self.settings.neighbours, group);
                rest = others;
            }
            watch.lap(&mut self.encoder.costs_mut().reading);
        }
        key
    }

    fn update(&mut self, seen: &Seen<'_>, update: Update) {
        keep_up(&mut self.encoder, &self.settings, seen, update);
    }

    fn learn(&mut self, decision: &Decision, options: &[usize], _: bool) {
        let Some(key) = decision.key.as_ref().filter(|_| decision.written) else {
            return;
        };
        let mut watch = Watch::start();
        let writing = Writing {
            rule: self.settings.write_rule,
            neighbours: self.settings.write_neighbours,
            rate: self.settings.write_rate,
        };
        for (memory, &option) in self.memories.iter_mut().zip(options) {
            memory.write(key, option, decision.hyper_return, decision.update, &writing);
        }
        watch.lap(&mut self.encoder.costs_mut().writing);
    }

    fn neighbours(&self, option: usize) -> Vec<Neighbour> {
        match self.memories[0].is_empty() {
            true => Vec::new(),
            false => self.memories[0].neighbours(option),
        }
    }

    fn tell(&self, insight: &mut Insight) {
        insight.memory = self.memories.first().map_or(0, EpisodicMemory::len);
        self.encoder.tell(insight);
    }

    fn not_finite(&self) -> Option<&'static str> {
        self.encoder.not_finite()
    }

    fn encoder(&self) -> Option<&Encoder> {
        Some(&self.encoder)
    }

    fn encoder_mut(&mut self) -> Option<&mut Encoder> {
        Some(&mut self.encoder)
    }

    fn save(&self) -> SavedMind<'_> {
        SavedMind::Episodic(Box::new(self.encoder.save()), Cow::Borrowed(&self.memories))
    }

    fn restore(&mut self, saved: SavedMind<'_>) -> Result<(), HyperError> {
        let SavedMind::Episodic(encoder, memories) = saved else {
            return Err(HyperError::OtherScheduler);
        };
        let alike = memories.len() == self.memories.len();
        if !alike
            || !memories
                .iter()
                .zip(&self.memories)
                .all(|(saved, own)| saved.is_like(own))
        {
            return Err(HyperError::OtherActions);
        }
        self.encoder.restore(*encoder)?;
        self.memories = memories.into_owned();
        Ok(())
    }
}

/// N_mem: half of the tuples that the run will write, at most 10,000 (paper, B.2).
fn memory_capacity(settings: &HyperSettings, plan: Plan) -> usize {
    let writes = plan.total_updates / plan.updates_per_decision(settings) / settings.write_interval;
    settings.memory_size.unwrap_or(((writes / 2) as usize).clamp(1, 10_000))
}
