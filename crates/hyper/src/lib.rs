//! Episodic Policy Gradient Training: the hyper-agent that schedules hyperparameters while something is trained.
//!
//! Training is seen as a Markov decision process (paper, section "Hyper-RL"). The *hyper-state* is the weights and last
//! gradients of the trained networks; a *hyper-action* is one value for each scheduled hyperparameter; the *hyper-reward* is
//! what the updated policy earns. The hyper-agent recalls from an episodic memory what came of hyper-actions in similar
//! hyper-states.
//!
//! The crate knows no environment and no policy-gradient method: it sees named tensors and outcomes, so it can schedule
//! anything that is trained by gradients.
//!
//! | file | what it holds |
//! | --- | --- |
//! | [`space`](HyperSpace) | which hyperparameters are scheduled and their values |
//! | [`state`](Projection) | the hyper-state: projected weights and gradients |
//! | [`encoder`](Encoder) | hyper-state to memory key: VAE, random projection, clock |
//! | [`memory`](EpisodicMemory) | the episodic memory |
//! | [`credit`](Credit) | from outcomes to hyper-returns |
//! | [`agent`](HyperAgent) | the schedulers `epgt`, `fixed`, `random`, `bandit`, `dqn`, `lrrl`, `ultho` |
//! | [`lrrl`](Lrrl), [`ultho`](Ultho) | the bandits of two later papers, which choose by rules of their own |
//! | [`costs`](Costs) | what the hyper-agent itself costs |
//! | [`signal`](Signal) | whether the choices show in the outcomes |

mod agent;
mod bandit;
mod costs;
mod credit;
mod decision;
mod dqn;
mod encoder;
mod insight;
mod lrrl;
mod memory;
mod mind;
mod pick;
mod plan;
mod remote;
mod scheduler;
mod settings;
mod signal;
mod space;
mod state;
mod ultho;

pub use agent::{HyperAgent, SavedAgent, TrainingContext};
pub use bandit::Bandit;
pub use costs::Costs;
pub use credit::{Credit, Outcome, Verdict};
pub use decision::{Choice, Decision};
pub use dqn::{Dqn, DqnState};
pub use encoder::{Encoder, SavedEncoder};
pub use insight::Insight;
pub use lrrl::Lrrl;
pub use memory::{EpisodicMemory, Neighbour, Writing};
pub use plan::Plan;
pub use settings::{
    ActionValues, EncoderKind, FixedAt, Hold, HyperSettings, Moves, OutcomeKind, Scheduler, Transform, Window,
    WriteRule,
};
pub use signal::Signal;
pub use space::{Axis, Grid, HyperSpace};
pub use state::{Projection, Standardiser};
pub use ultho::Ultho;
