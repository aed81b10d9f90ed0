"""Private training with Torch, with per-example gradients of torch.func.

    python examples/private_training_torch.py
"""

import torch
from torch.func import functional_call, grad, vmap

import matmech

RECORDS, TESTS, FEATURES, CLIP, RATE = 4000, 2000, 8, 1.0, 2.0
torch.manual_seed(7)
x, weights = torch.randn(RECORDS + TESTS, FEATURES), torch.randn(FEATURES)
y = (torch.rand(len(x)) < torch.sigmoid(4 * x @ weights)).long()

model = torch.nn.Sequential(
    torch.nn.Linear(FEATURES, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2)
)
parameters = {name: p.detach().clone() for name, p in model.named_parameters()}
training = matmech.PrivateTraining(
    records=RECORDS, steps_per_epoch=16, epochs=4, epsilon=2, delta=1e-6, clip=CLIP,
    participation="fixed",
)


def loss(parameters, x, y):
    scores = functional_call(model, parameters, (x[None],))
    return torch.nn.functional.cross_entropy(scores, y[None])


for batch in training.batches():
    batch = torch.from_numpy(batch)
    gradients = vmap(grad(loss), in_dims=(None, 0, 0))(parameters, x[batch], y[batch])
    norms = torch.sqrt(sum(g.flatten(1).square().sum(1) for g in gradients.values()))
    factors = (CLIP / norms).clamp(max=1)
    sums = {name: torch.einsum("i,i...->...", factors, g) for name, g in gradients.items()}
    noisy = training.private(sums)
    parameters = {n: p - RATE * noisy[n] / training.divisor for n, p in parameters.items()}

print(training.statement())
predicted = functional_call(model, parameters, (x[RECORDS:],)).argmax(1)
print(f"accuracy {(predicted == y[RECORDS:]).float().mean():.3f} on {TESTS} other records")
