//! Progress of a run: a bar on a terminal, log lines elsewhere.

use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use tracing::info;

use crate::printed::duration;

/// The display of progress; clones share the terminal.
#[derive(Clone, Debug)]
pub struct Display {
    bars: Option<MultiProgress>,
}

impl Display {
    /// Returns a display with a bar if standard error is a terminal, else with log lines.
    #[must_use]
    pub fn detect() -> Self {
        Self { bars: io::stderr().is_terminal().then(MultiProgress::new) }
    }

    /// Returns a display with log lines only.
    #[must_use]
    pub fn plain() -> Self {
        Self { bars: None }
    }

    /// Returns a writer of log lines to standard error, which hides the bar while it writes.
    #[must_use]
    pub fn log_writer(&self) -> impl Write + use<> {
        LogWriter { bars: self.bars.clone() }
    }

    /// Starts the progress of cells with the given sum of expected times in seconds.
    pub(super) fn start(&self, label: &str, cells: usize, cost: f64) -> Progress {
        let bar = self.bars.as_ref().map(|bars| {
            let bar = bars.add(ProgressBar::new(cells as u64));
            let style = ProgressStyle::with_template(
                "{prefix} [{bar:24}] {pos}/{len} cells, {elapsed} elapsed{wide_msg}",
            );
            bar.set_style(
                style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "),
            );
            bar.set_prefix(label.to_owned());
            bar.enable_steady_tick(Duration::from_millis(500));
            bar
        });
        let now = Instant::now();
        Progress {
            label: label.to_owned(),
            cells,
            cost,
            bar,
            started: now,
            state: Mutex::new(State { done: 0, cost_done: 0.0, last_line: now }),
        }
    }
}

struct LogWriter {
    bars: Option<MultiProgress>,
}

impl Write for LogWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let write = || io::stderr().write_all(line);
        match &self.bars {
            Some(bars) => bars.suspend(write)?,
            None => write()?,
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// Progress of a run, shared by the workers.
pub(super) struct Progress {
    label: String,
    cells: usize,
    /// Sum of the expected times of all cells.
    cost: f64,
    bar: Option<ProgressBar>,
    started: Instant,
    state: Mutex<State>,
}

struct State {
    done: usize,
    /// Sum of the expected times of the finished cells.
    cost_done: f64,
    last_line: Instant,
}

/// Minimum time between log lines of short cells.
const MIN_INTERVAL: Duration = Duration::from_secs(2);

impl Progress {
    /// Records that a worker begins a cell.
    pub(super) fn begin(&self, address: &str) {
        if let Some(bar) = &self.bar {
            let left = self.state.lock().ok().and_then(|state| self.seconds_left(&state));
            let left = left.map_or_else(String::new, |left| format!(", ETA {}", duration(left)));
            bar.set_message(format!("{left} {address}"));
        }
    }

    /// Records that a worker has finished a cell.
    pub(super) fn end(&self, address: &str, seconds: f64, cost: f64) {
        let Ok(mut state) = self.state.lock() else {
            return;
        };
        state.done += 1;
        state.cost_done += cost;
        if let Some(bar) = &self.bar {
            bar.inc(1);
            return;
        }
        let last = state.done == self.cells;
        // Long cells always get a line.
        if last
            || seconds >= MIN_INTERVAL.as_secs_f64()
            || state.last_line.elapsed() >= MIN_INTERVAL
        {
            state.last_line = Instant::now();
            let elapsed = self.started.elapsed().as_secs_f64();
            let left = self.seconds_left(&state).unwrap_or(0.0);
            info!(
                "{}: {}/{} cells, {elapsed:.1} s elapsed, ETA {left:.0} s; {address} took \
                 {seconds:.2} s",
                self.label, state.done, self.cells,
            );
        }
    }

    /// Returns the time left, if the rest takes as long as the finished cells for their cost.
    fn seconds_left(&self, state: &State) -> Option<f64> {
        let elapsed = self.started.elapsed().as_secs_f64();
        (state.cost_done > 0.0)
            .then(|| elapsed / state.cost_done * (self.cost - state.cost_done).max(0.0))
    }

    /// Removes the bar.
    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
