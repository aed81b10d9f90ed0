"""The rows of random queries: cells drawn from ChaCha20 with the seed of the workload.

Every cell of a query takes one 64-bit number, and is in the query if it is below probability 2^64.
The key is expanded from the seed by the generator of rand_core 0.9 and 0.10, PCG32."""
import numpy as np

def key_of(seed):
    state, words = seed, []
    for _ in range(8):
        state = (state * 6364136223846793005 + 11634580027462260723) % 2**64
        word, turn = (state >> 18 ^ state) >> 27 & 0xffffffff, state >> 59
        words.append((word >> turn | word << (-turn & 31)) & 0xffffffff)
    return words

def blocks(key, first, count):
    """Returns blocks of 16 words from block `first`; block numbers have 64 bits, the nonce is 0."""
    counter = np.arange(first, first + count, dtype=np.uint64)
    start = [0x61707865, 0x3320646e, 0x79622d32, 0x6b206574, *key]
    words = [np.full(count, word, np.uint32) for word in start]
    words += [(counter & np.uint64(0xffffffff)).astype(np.uint32),
              (counter >> np.uint64(32)).astype(np.uint32)] + [np.zeros(count, np.uint32)] * 2
    x = [word.copy() for word in words]
    def turned(word, bits):
        return word << np.uint32(bits) | word >> np.uint32(32 - bits)
    def quarter(a, b, c, d):
        for one, two, three, bits in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            x[one] = x[one] + x[two]
            x[three] = turned(x[three] ^ x[one], bits)
    for _ in range(10):
        for k in range(4):
            quarter(k, k + 4, k + 8, k + 12)
        for k in range(4):
            quarter(k, 4 + (k + 1) % 4, 8 + (k + 2) % 4, 12 + (k + 3) % 4)
    return np.stack([a + b for a, b in zip(x, words)], axis=1)

def rows(seed, skip, queries, cells, probability):
    """Returns the queries after the first `skip` numbers of the stream."""
    first, count = 2 * skip, 2 * queries * cells
    start, end = first // 16, (first + count + 15) // 16
    words = blocks(key_of(seed), start, end - start).ravel()[first - 16 * start:][:count]
    numbers = words[::2].astype(np.uint64) | words[1::2].astype(np.uint64) << np.uint64(32)
    limit = np.uint64(int(probability * 2.0**64))
    return (numbers < limit).astype(float).reshape(queries, cells)
