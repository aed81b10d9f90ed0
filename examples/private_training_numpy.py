"""Private logistic regression with NumPy: batches, noise and statement from one object.

    python examples/private_training_numpy.py
"""

import numpy as np

import matmech

RECORDS, TESTS, FEATURES, CLIP, RATE = 4000, 2000, 8, 1.0, 2.0
rng = np.random.default_rng(7)
weights = rng.normal(size=FEATURES)
x = rng.normal(size=(RECORDS + TESTS, FEATURES))
y = (x @ weights + rng.logistic(size=len(x)) / 4 > 0).astype(float)
x, y, test_x, test_y = x[:RECORDS], y[:RECORDS], x[RECORDS:], y[RECORDS:]

training = matmech.PrivateTraining(
    records=RECORDS, steps_per_epoch=16, epochs=4, epsilon=2, delta=1e-6, clip=CLIP,
    participation="fixed",
)
model = np.zeros(FEATURES)
for batch in training.batches():
    errors = 1 / (1 + np.exp(-x[batch] @ model)) - y[batch]
    gradients = errors[:, None] * x[batch]
    norms = np.linalg.norm(gradients, axis=1, keepdims=True)
    clipped = gradients / np.maximum(norms / CLIP, 1)
    model -= RATE * training.private(clipped.sum(axis=0)) / training.divisor
print(training.statement())
print(f"accuracy {np.mean((test_x @ model > 0) == test_y):.3f} on {TESTS} other records")
