"""The paper's network on pixels in PyTorch on one thread; `conv_speed.rs` starts it. CPU time, the fastest of many rounds."""

import time

import torch

torch.set_num_threads(1)
torch.manual_seed(0)
trunk = torch.nn.Sequential(
    torch.nn.Conv2d(4, 32, 8, 4), torch.nn.ReLU(),
    torch.nn.Conv2d(32, 64, 4, 2), torch.nn.ReLU(),
    torch.nn.Conv2d(64, 32, 3, 1), torch.nn.ReLU(),
    torch.nn.Flatten(), torch.nn.Linear(7 * 7 * 32, 512), torch.nn.ReLU(),
)
heads = torch.nn.ModuleList([torch.nn.Linear(512, 6), torch.nn.Linear(512, 1)])
rms = torch.optim.RMSprop([*trunk.parameters(), *heads.parameters()], lr=1e-9, alpha=0.99, eps=1e-5)
images = torch.randint(0, 256, (256, 4, 84, 84), dtype=torch.uint8)


def outputs(images):
    features = trunk(images.float() / 255)
    return [head(features) for head in heads]


def act():
    with torch.no_grad():
        outputs(images[:16])


def train():
    loss = sum(out.sum() for out in outputs(images))
    rms.zero_grad()
    loss.backward()
    rms.step()


def fastest(call, calls, rounds=20):
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        for _ in range(calls):
            call()
        best = min(best, (time.process_time() - start) * 1e3 / calls)
    return best


print(f"PyTorch: forward 16 {fastest(act, 4):8.2f} ms")
print(f"PyTorch: train 256  {fastest(train, 1):8.2f} ms   ({torch.__version__})")
