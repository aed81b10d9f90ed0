//! Estimation: from noisy measurements to estimates of marginals that are consistent with each other.
