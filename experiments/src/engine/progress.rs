//! Progress of a run: a bar on a terminal, plain lines elsewhere.

use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use tracing::info;

/// Where progress is shown. Clones share the terminal.
#[derive(Clone, Debug)]
pub struct Display {
    bars: Option<MultiProgress>,
}

impl Display {
    /// A bar if standard error is a terminal, else log lines.
    #[must_use]
    pub fn detect() -> Self {
        Self { bars: io::stderr().is_terminal().then(MultiProgress::new) }
    }

    /// Log lines, whatever standard error is.
    #[must_use]
    pub fn plain() -> Self {
        Self { bars: None }
    }

    /// Standard error for log lines: it takes the bar away, writes, and puts it back.
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

/// Without a terminal there is a line at most this often, so that a thousand short cells do not
/// fill a log.
const LINE_EVERY: Duration = Duration::from_secs(2);

impl Progress {
    /// A worker begins a cell.
    pub(super) fn begin(&self, address: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(self.short(address).to_owned());
        }
    }

    /// A worker has finished a cell.
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
        // A long cell is worth its line even when another has just had one.
        if last || seconds >= LINE_EVERY.as_secs_f64() || state.last_line.elapsed() >= LINE_EVERY {
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

    /// All is done.
    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// The address without the experiment, which is named already.
    fn short<'a>(&self, address: &'a str) -> &'a str {
        address
            .strip_prefix(&self.experiment)
            .and_then(|rest| rest.strip_prefix('/'))
            .unwrap_or(address)
    }
}
