//! Episodic Policy Gradient Training: the hyper-agent that schedules hyperparameters while something is trained.
//!
//! Training is seen as a Markov decision process (paper, section "Hyper-RL"). The *hyper-state* is the weights and last
//! gradients of the trained networks; a *hyper-action* is one value for each scheduled hyperparameter; the
//! *hyper-reward* is what the updated policy earns. The hyper-agent recalls from an episodic memory what came of
//! hyper-actions in similar hyper-states.
//!
//! The crate knows no environment and no policy-gradient method: it sees named tensors and outcomes, so it can schedule
//! anything that is trained by gradients.
//!
//! A *scheduler* ([`Scheduler`]) makes a *mind* ([`Mind`]); a [`HyperAgent`] asks it when a decision is due. Both are
//! traits: a scheduler of one's own is two small types, and [`Scheduler`] has an example.
//!
//! | file | what it holds |
//! | --- | --- |
//! | [`agent`](HyperAgent) | when a decision is due, how it explores, when credit comes |
//! | [`scheduler`](Scheduler), [`mind`](Mind) | what sets schedulers apart |
//! | [`space`](HyperSpace) | which hyperparameters are scheduled and their values |
//! | [`state`](Projection) | the hyper-state: projected weights and gradients |
//! | [`encoder`](Encoder) | hyper-state to memory key: VAE, random projection, clock |
//! | [`memory`](EpisodicMemory) | the episodic memory |
//! | [`credit`](Credit) | from outcomes to hyper-returns |
//! | [`episodic`](Epgt), [`bandit`](EpsilonBandit), [`dqn`](DeepQ), [`lrrl`](LrrlBandit), [`ultho`](UlthoBandit), [`constant`](Fixed) | the schedulers |
//! | [`costs`](Costs) | what the hyper-agent itself costs |
//! | [`signal`](Signal) | whether the choices show in the outcomes |

mod agent;
mod bandit;
mod constant;
mod costs;
mod credit;
mod decision;
mod dqn;
mod encoder;
mod episodic;
mod error;
mod insight;
mod lrrl;
mod memory;
mod mind;
mod moment;
mod pick;
mod plan;
mod scheduler;
mod settings;
mod signal;
mod space;
mod state;
mod ultho;

pub use agent::{HyperAgent, SavedAgent};
pub use bandit::{Bandit, EpsilonBandit};
pub use constant::{Adopted, Fixed, Random};
pub use costs::Costs;
pub use credit::{Credit, Reading, Verdict};
pub use decision::{Choice, Decision};
pub use dqn::{DeepQ, Dqn, DqnState};
pub use encoder::{Encoder, SavedEncoder};
pub use epgt_nn::TensorShape;
pub use episodic::Epgt;
pub use error::{GridError, HyperError};
pub use insight::Insight;
pub use lrrl::{Lrrl, LrrlBandit};
pub use memory::{EpisodicMemory, Neighbour, Writing};
pub use mind::{Mind, Need, SavedMind, Update};
pub use moment::{Moment, Seen};
pub use plan::Plan;
pub use scheduler::{About, Choosing, Purpose, Scheduler, schedulers};
pub use settings::{ActionValues, EncoderKind, FixedAt, Hold, HyperSettings, Moves, Transform, Window, WriteRule};
pub use signal::Signal;
pub use space::{Axis, Grid, HyperSpace};
pub use state::{Projection, Standardiser};
pub use ultho::{Ultho, UlthoBandit};
