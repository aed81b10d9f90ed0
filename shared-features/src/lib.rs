//! Nothing: the manifest of this package is what it is for.
