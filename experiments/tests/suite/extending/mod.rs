//! The examples of `docs/extending.md`: an external kind of experiment and an external kind of
//! figure, run by the commands of `reproduce`.

mod commands;
mod dots;
mod identity_errors;
