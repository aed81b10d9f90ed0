//! The steps of a command, for progress bars. No step depends on records while they are in memory.

use matmech::error::Result;

/// Observes the steps of a command.
pub trait Steps {
    /// A step starts, of a number of parts if it is known.
    fn start(&self, name: &'static str, parts: Option<usize>);
    /// Parts of the step are done.
    fn done(&self, parts: usize);
    /// The step is finished.
    fn finish(&self);
    /// The budget is about to be reserved; `line` is for the user.
    ///
    /// # Errors
    /// The release is not to be made. Nothing was spent.
    fn reserving(&self, line: &str) -> Result<()>;
}

/// Runs a step; it reports how many of its `parts` are done.
pub(super) fn with_parts<T>(
    steps: &dyn Steps,
    name: &'static str,
    parts: usize,
    step: impl FnOnce(&mut dyn FnMut(usize)) -> T,
) -> T {
    steps.start(name, Some(parts));
    let result = step(&mut |done| steps.done(done));
    steps.finish();
    result
}

/// Runs a step of unknown length.
pub(super) fn whole<T>(steps: &dyn Steps, name: &'static str, step: impl FnOnce() -> T) -> T {
    steps.start(name, None);
    let result = step();
    steps.finish();
    result
}
