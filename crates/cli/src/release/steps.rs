//! Progress on a terminal; nothing is shown if standard error is not a terminal.

use std::cell::RefCell;
use std::io::Write;

use indicatif::{ProgressBar, ProgressStyle};
use matmech_app::steps::Steps;

/// Shows steps with a progress bar, or a spinner and the elapsed time.
#[derive(Debug, Default)]
pub(crate) struct Bars {
    bar: RefCell<Option<ProgressBar>>,
}

impl Steps for Bars {
    fn start(&self, name: &'static str, parts: Option<usize>) {
        let (bar, template) = match parts {
            Some(parts) => {
                (ProgressBar::new(parts as u64), "{msg:>10} {wide_bar} {pos}/{len} {eta}")
            }
            None => (ProgressBar::new_spinner(), "{msg:>10} {spinner} {elapsed}"),
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(name);
        if parts.is_none() {
            bar.enable_steady_tick(std::time::Duration::from_millis(200));
        }
        self.bar.replace(Some(bar));
    }

    fn done(&self, parts: usize) {
        if let Some(bar) = &*self.bar.borrow() {
            bar.set_position(parts as u64);
        }
    }

    fn finish(&self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    fn reserving(&self, line: &str) -> matmech::Result<()> {
        // A standard error that cannot be written is no failure of the command.
        let _ = writeln!(std::io::stderr(), "{line}");
        Ok(())
    }
}
