//! Progress bars on a terminal; hidden if standard error is not a terminal.

use indicatif::{ProgressBar, ProgressStyle};

/// One step of a long run.
pub(in crate::cli) struct Step(ProgressBar);

/// Starts a progress bar with `parts` parts.
pub(in crate::cli) fn begin(what: &'static str, parts: usize) -> Step {
    let bar = ProgressBar::new(parts as u64);
    let style = ProgressStyle::with_template("{msg:>10} {wide_bar} {pos}/{len} {eta}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_message(what);
    Step(bar)
}

/// Starts a spinner with the elapsed time, for a step of unknown length.
pub(in crate::cli) fn wait(what: &'static str) -> Step {
    let bar = ProgressBar::new_spinner();
    let style = ProgressStyle::with_template("{msg:>10} {spinner} {elapsed}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    bar.set_message(what);
    bar.enable_steady_tick(std::time::Duration::from_millis(200));
    Step(bar)
}

impl Step {
    pub(in crate::cli) fn at(&self, done: usize) {
        self.0.set_position(done as u64);
    }

    pub(in crate::cli) fn end(self) {
        self.0.finish_and_clear();
    }
}
