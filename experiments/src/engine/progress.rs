//! Progress of a run: a bar on a terminal, log lines elsewhere.

use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use tracing::info;

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

    /// Starts the progress of one experiment.
    pub(super) fn start(&self, experiment: &str, cells: usize) -> Progress {
        let bar = self.bars.as_ref().map(|bars| {
            let bar = bars.add(ProgressBar::new(cells as u64));
            let style = ProgressStyle::with_template(
                "{prefix} [{bar:24}] {pos}/{len} cells, {elapsed} elapsed, ETA {eta} {wide_msg}",
            );
            bar.set_style(
                style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "),
            );
            bar.set_prefix(experiment.to_owned());
            bar.enable_steady_tick(Duration::from_millis(500));
            bar
        });
        let now = Instant::now();
        Progress {
            experiment: experiment.to_owned(),
            cells,
            bar,
            started: now,
            state: Mutex::new(State { done: 0, last_line: now }),
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

/// Progress of one experiment, shared by the workers.
pub(super) struct Progress {
    experiment: String,
    cells: usize,
    bar: Option<ProgressBar>,
    started: Instant,
    state: Mutex<State>,
}

struct State {
    done: usize,
    last_line: Instant,
}

/// Minimum time between log lines of short cells.
const MIN_INTERVAL: Duration = Duration::from_secs(2);

impl Progress {
    /// Records that a worker begins a cell.
    pub(super) fn begin(&self, address: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(self.short(address).to_owned());
        }
    }

    /// Records that a worker has finished a cell.
    pub(super) fn end(&self, address: &str, seconds: f64) {
        let Ok(mut state) = self.state.lock() else {
            return;
        };
        state.done += 1;
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
            let left = elapsed / state.done as f64 * (self.cells - state.done) as f64;
            info!(
                "{}: {}/{} cells, {elapsed:.1} s elapsed, ETA {left:.0} s; {} took {seconds:.2} s",
                self.experiment,
                state.done,
                self.cells,
                self.short(address),
            );
        }
    }

    /// Removes the bar.
    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// Returns the address without the experiment.
    fn short<'a>(&self, address: &'a str) -> &'a str {
        address
            .strip_prefix(&self.experiment)
            .and_then(|rest| rest.strip_prefix('/'))
            .unwrap_or(address)
    }
}
