"""Trains Stable-Baselines3's A2C or PPO with the settings given as JSON, and prints what it cost as JSON.

The peer of `epgt bench --peer sb3`. Everything that favours the peer is done: one thread (more cost it CPU time on networks this
small), the vector environment that steps in this process, and a first rollout and update that are not counted.
"""

import importlib
import json
import resource
import sys
import time

import gymnasium
import stable_baselines3
import torch
from stable_baselines3 import A2C, PPO
from stable_baselines3.common.env_util import make_atari_env, make_vec_env
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import DummyVecEnv, VecFrameStack, VecNormalize


class Images(BaseFeaturesExtractor):
    """The convolutions and dense layers of an image policy."""

    def __init__(self, observation_space, convolutions, hidden):
        super().__init__(observation_space, hidden[-1])
        layers, channels = [], observation_space.shape[0]
        for outputs, kernel, stride in zip(*convolutions):
            layers += [torch.nn.Conv2d(channels, outputs, kernel, stride), torch.nn.ReLU()]
            channels = outputs
        layers.append(torch.nn.Flatten())
        with torch.no_grad():
            width = torch.nn.Sequential(*layers)(torch.zeros(1, *observation_space.shape)).shape[1]
        for outputs in hidden:
            layers += [torch.nn.Linear(width, outputs), torch.nn.ReLU()]
            width = outputs
        self.layers = torch.nn.Sequential(*layers)

    def forward(self, observations):
        return self.layers(observations)


def make_environments(settings):
    """The environments; those of Atari with the usual preprocessing and four frames in a stack."""
    common = {"n_envs": settings["n_envs"], "seed": settings["seed"], "vec_env_cls": DummyVecEnv}
    if not settings.get("atari"):
        task = settings["task"].removeprefix("gym:")
        module, _, name = task.rpartition(":")
        if module and name.isidentifier():
            task = getattr(importlib.import_module(module), name)
        options = dict(settings["options"])
        for module in filter(None, options.pop("import", "").split(",")):
            importlib.import_module(module.strip())
        options.pop("bridge_timeout", None)
        return make_vec_env(task, env_kwargs={name: value(text) for name, text in options.items()}, **common)
    import ale_py

    gymnasium.register_envs(ale_py)
    # The preprocessing skips frames by itself.
    options = {"frameskip": 1} if settings["task"].startswith("ALE/") else {}
    wrapper = {"clip_reward": settings["sign_rewards"]}
    return VecFrameStack(make_atari_env(settings["task"], env_kwargs=options, wrapper_kwargs=wrapper, **common), 4)


def value(text):
    """A number, a truth value, a list, or a word."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def build(settings):
    """The learner with its environments, as `epgt train` sets them up."""
    environments = make_environments(settings)
    if settings["normalize_observations"] or settings["normalize_rewards"]:
        environments = VecNormalize(
            environments,
            norm_obs=settings["normalize_observations"],
            norm_reward=settings["normalize_rewards"],
            clip_obs=10.0,
            clip_reward=10.0,
            gamma=settings["gamma"],
        )
    policy = {
        "net_arch": {"pi": settings["hidden"], "vf": settings["hidden"]},
        "activation_fn": {"tanh": torch.nn.Tanh, "relu": torch.nn.ReLU}[settings["activation"]],
        "log_std_init": settings["log_std_init"],
    }
    shows_images = "convolutions" in settings
    if shows_images:
        extractor = {"convolutions": settings["convolutions"], "hidden": settings["image_hidden"]}
        policy = {"net_arch": [], "features_extractor_class": Images, "features_extractor_kwargs": extractor}
    common = {
        "policy": "CnnPolicy" if shows_images else "MlpPolicy",
        "env": environments,
        "learning_rate": scheduled(settings["learning_rate"], settings["learning_rate_schedule"]),
        "n_steps": settings["n_steps"],
        "gamma": settings["gamma"],
        "gae_lambda": settings["gae_lambda"],
        "ent_coef": settings["ent_coef"],
        "vf_coef": settings["vf_coef"],
        "max_grad_norm": settings["max_grad_norm"],
        "normalize_advantage": settings["normalize_advantage"],
        "policy_kwargs": policy,
        "seed": settings["seed"],
        "device": settings.get("device", "cpu"),
        "verbose": 0,
    }
    if settings["algo"] == "ppo":
        policy["optimizer_kwargs"] = {"betas": (settings["adam_beta1"], settings["adam_beta2"]), "eps": settings["adam_eps"]}
        value_clip = settings["clip_range_vf"]
        return PPO(
            batch_size=settings["batch_size"],
            n_epochs=settings["n_epochs"],
            clip_range=scheduled(settings["clip_range"], settings["clip_schedule"]),
            clip_range_vf=scheduled(value_clip, settings["clip_schedule"]) if value_clip > 0 else None,
            target_kl=None if settings["target_kl"] == "auto" else settings["target_kl"],
            **common,
        )
    policy["optimizer_class"] = torch.optim.RMSprop
    policy["optimizer_kwargs"] = {"alpha": settings["rms_prop_decay"], "eps": settings["rms_prop_eps"]}
    return A2C(**common)


def scheduled(value, schedule):
    """A constant, or the same falling in a straight line."""
    return (lambda remaining: value * remaining) if schedule == "linear" else value


def peak_memory_mb():
    """Most memory resident at once; Linux counts in kibibytes, macOS in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def train(settings):
    """Trains for some steps after a first rollout and update, and says what those steps cost."""
    model = build(settings)
    model.learn(settings["n_envs"] * settings["n_steps"])
    first, start = model.num_timesteps, time.process_time()
    if settings["steps"] > 0:
        model.learn(settings["steps"], reset_num_timesteps=False)
    return {
        "steps": model.num_timesteps - first,
        "cpu_seconds": time.process_time() - start,
        "peak_memory_mb": peak_memory_mb(),
    }


def versions():
    """What was compared with."""
    text = f"Stable-Baselines3 {stable_baselines3.__version__} (Gymnasium {gymnasium.__version__}, PyTorch {torch.__version__})"
    return {"versions": text}


torch.set_num_threads(1)
print(json.dumps(versions() if sys.argv[1] == "versions" else train(json.loads(sys.argv[2]))))
