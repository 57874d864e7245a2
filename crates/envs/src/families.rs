//! The families of tasks that need a simulator, each behind a feature of this crate: what is said of a task whose
//! family was not compiled.

use crate::EnvError;

const BOX2D: [&str; 5] = [
    "BipedalWalker-v3",
    "BipedalWalkerHardcore-v3",
    "LunarLander-v3",
    "LunarLanderContinuous-v2",
    "LunarLanderContinuous-v3",
];

const MUJOCO: [&str; 21] = [
    "Ant-v4",
    "Ant-v5",
    "HalfCheetah-v4",
    "HalfCheetah-v5",
    "Hopper-v4",
    "Hopper-v5",
    "Humanoid-v4",
    "Humanoid-v5",
    "HumanoidStandup-v4",
    "HumanoidStandup-v5",
    "InvertedDoublePendulum-v4",
    "InvertedDoublePendulum-v5",
    "InvertedPendulum-v4",
    "InvertedPendulum-v5",
    "Pusher-v5",
    "Reacher-v4",
    "Reacher-v5",
    "Swimmer-v4",
    "Swimmer-v5",
    "Walker2d-v4",
    "Walker2d-v5",
];

/// What a family needs.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Family {
    simulator: &'static str,
    feature: &'static str,
    compiled: bool,
}

/// The family of an id; `None` where the task needs no feature.
fn family(id: &str) -> Option<Family> {
    let (simulator, feature, compiled) = match id {
        _ if BOX2D.contains(&id) => ("Box2D", "box2d", cfg!(feature = "box2d")),
        _ if MUJOCO.contains(&id) => ("MuJoCo", "mujoco", cfg!(feature = "mujoco")),
        _ if id.starts_with("gym:") => ("the bridge to Gymnasium", "gymnasium", cfg!(feature = "gymnasium")),
        _ if id.starts_with("ALE/") || id.ends_with("NoFrameskip-v4") => {
            ("the bridge to ale-py", "gymnasium", cfg!(feature = "gymnasium"))
        }
        _ => return None,
    };
    Some(Family {
        simulator,
        feature,
        compiled,
    })
}

impl Family {
    fn refuse(self, id: &str) -> EnvError {
        let Family { simulator, feature, .. } = self;
        EnvError::MissingSimulator(format!(
            "{id} needs {simulator}, and this program was built without it; build it with --features {feature}"
        ))
    }
}

/// Refuses an id whose family was not compiled.
pub(crate) fn check_compiled(id: &str) -> Result<(), EnvError> {
    match family(id) {
        Some(family) if !family.compiled => Err(family.refuse(id)),
        _ => Ok(()),
    }
}

/// The ids of the families that were not compiled.
pub(crate) fn absent() -> impl Iterator<Item = &'static str> {
    let all = BOX2D.into_iter().chain(MUJOCO);
    all.filter(|id| family(id).is_some_and(|family| !family.compiled))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_whose_family_is_missing_is_refused_in_one_sentence() {
        let refused = |id| family(id).unwrap().refuse(id).to_string();
        assert_eq!(
            refused("LunarLander-v3"),
            "LunarLander-v3 needs Box2D, and this program was built without it; build it with --features box2d"
        );
        assert_eq!(
            refused("Hopper-v5"),
            "Hopper-v5 needs MuJoCo, and this program was built without it; build it with --features mujoco"
        );
        assert_eq!(
            refused("gym:CartPole-v1"),
            "gym:CartPole-v1 needs the bridge to Gymnasium, and this program was built without it; build it with --features gymnasium"
        );
        for game in ["ALE/Pong-v5", "PongNoFrameskip-v4"] {
            assert_eq!(
                refused(game),
                format!(
                    "{game} needs the bridge to ale-py, and this program was built without it; build it with --features gymnasium"
                )
            );
        }
        for own in ["CartPole-v1", "PixelCatch-v0", "Pong-v5"] {
            assert_eq!(family(own), None, "{own}");
        }
    }

    #[test]
    fn a_task_is_known_or_refused_with_the_name_of_its_feature() {
        for id in BOX2D.iter().chain(&MUJOCO).chain(&["gym:CartPole-v1", "ALE/Pong-v5"]) {
            let family = family(id).unwrap();
            match crate::find(id) {
                Ok(task) => assert!(family.compiled && task.id == *id, "{id}"),
                Err(error) => assert_eq!((error, family.compiled), (family.refuse(id), false)),
            }
        }
    }

    #[test]
    fn all_tasks_of_the_families_are_listed() {
        let listed = |id: &str| BOX2D.contains(&id) || MUJOCO.contains(&id);
        let own = [
            "Acrobot",
            "CartPole",
            "MountainCar",
            "MountainCarContinuous",
            "Pendulum",
            "PixelCatch",
        ];
        for task in crate::tasks() {
            assert_ne!(listed(&task.id), own.contains(&crate::family(&task.id)), "{}", task.id);
        }
    }
}
