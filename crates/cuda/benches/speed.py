"""PyTorch's time for what speed.rs does, in both layouts of its images."""
import sys
import time

import torch

batch = int(sys.argv[1]) if len(sys.argv) > 1 else 2048
device = torch.device("cuda")
torch.backends.cudnn.benchmark = True


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        conv, linear, relu = torch.nn.Conv2d, torch.nn.Linear, torch.nn.ReLU
        self.trunk = torch.nn.Sequential(
            conv(4, 32, 8, 4), relu(), conv(32, 64, 4, 2), relu(), conv(64, 32, 3, 1), relu(),
            torch.nn.Flatten(), linear(1568, 512), relu())
        self.policy, self.value = linear(512, 6), linear(512, 1)

    def forward(self, images, layout):
        features = self.trunk((images.float() / 255).contiguous(memory_format=layout))
        return self.policy(features), self.value(features)


images = torch.randint(0, 256, (batch, 4, 84, 84), dtype=torch.uint8, device=device)
few = torch.randint(0, 256, (40, 4, 84, 84), dtype=torch.uint8)
of_policy = torch.randn(batch, 6, device=device) / batch
of_value = torch.randn(batch, 1, device=device) / batch


def fastest(passes, times, work):
    best = float("inf")
    for _ in range(passes):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(times):
            work()
        torch.cuda.synchronize()
        best = min(best, (time.perf_counter() - start) / times)
    return best


for tf32 in [False, True]:
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32
    for layout in [torch.contiguous_format, torch.channels_last]:
        net = Net().to(device).to(memory_format=layout)
        adam = torch.optim.Adam(net.parameters(), lr=2.5e-4, eps=1e-5, fused=True)

        def train():
            adam.zero_grad(set_to_none=True)
            torch.autograd.backward(net(images, layout), [of_policy, of_value])
            torch.nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            adam.step()

        def act():
            with torch.no_grad():
                net(few.to(device), layout)[0].cpu()

        seconds = fastest(10, 10, train)
        print(f"pytorch {torch.__version__}, tf32 {tf32}, {layout}: train {batch}: {seconds * 1e3:.3f} ms, {batch / seconds:.0f} images/s")
        print(f"pytorch {torch.__version__}, tf32 {tf32}, {layout}: act 40: {fastest(50, 1, act) * 1e3:.3f} ms", flush=True)
