//! Progress on a terminal; nothing is shown if standard error is not a terminal.

use indicatif::{ProgressBar, ProgressStyle};

/// Runs a step with a progress bar; the step reports how many of its `parts` are done.
pub(in crate::cli) fn with_bar<T>(
    name: &'static str,
    parts: usize,
    step: impl FnOnce(&mut dyn FnMut(usize)) -> T,
) -> T {
    let bar = ProgressBar::new(parts as u64);
    let style = ProgressStyle::with_template("{msg:>10} {wide_bar} {pos}/{len} {eta}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_message(name);
    let result = step(&mut |done| bar.set_position(done as u64));
    bar.finish_and_clear();
    result
}

/// Runs a step of unknown length with a spinner and the elapsed time.
pub(super) fn with_spinner<T>(name: &'static str, step: impl FnOnce() -> T) -> T {
    let bar = ProgressBar::new_spinner();
    let style = ProgressStyle::with_template("{msg:>10} {spinner} {elapsed}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    bar.set_message(name);
    bar.enable_steady_tick(std::time::Duration::from_millis(200));
    let result = step();
    bar.finish_and_clear();
    result
}
