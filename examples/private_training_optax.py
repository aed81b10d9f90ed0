"""Private training with JAX and an optimizer of optax.

    python examples/private_training_optax.py
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax

import matmech

RECORDS, TESTS, FEATURES, CLIP = 4000, 2000, 8, 1.0
rng = np.random.default_rng(7)
x = rng.normal(size=(RECORDS + TESTS, FEATURES)).astype(np.float32)
y = (x @ rng.normal(size=FEATURES) + rng.logistic(size=len(x)) / 4 > 0).astype(np.float32)

training = matmech.PrivateTraining(
    records=RECORDS, steps_per_epoch=16, epochs=4, epsilon=2, delta=1e-6, clip=CLIP,
    participation="fixed",
)
model = {"weights": jnp.zeros(FEATURES), "bias": jnp.zeros(())}
optimizer = optax.sgd(2.0)
state = optimizer.init(model)


def loss(model, x, y):
    return optax.sigmoid_binary_cross_entropy(x @ model["weights"] + model["bias"], y)


@jax.jit
def sum_of_clipped(model, x, y):
    gradients = jax.vmap(jax.grad(loss), in_axes=(None, 0, 0))(model, x, y)
    norms = jax.vmap(optax.global_norm)(gradients)
    factors = CLIP / jnp.maximum(norms, CLIP)
    return jax.tree.map(lambda g: jnp.tensordot(factors, g, axes=1), gradients)


for batch in training.batches():
    noisy = training.private(sum_of_clipped(model, x[batch], y[batch]))
    mean = jax.tree.map(lambda g: g / training.divisor, noisy)
    updates, state = optimizer.update(mean, state)
    model = optax.apply_updates(model, updates)

print(training.statement())
predicted = x[RECORDS:] @ model["weights"] + model["bias"] > 0
print(f"accuracy {jnp.mean(predicted == y[RECORDS:]):.3f} on {TESTS} other records")
