//! Work on another thread, while the calling thread handles signals and progress.
//!
//! The calling thread releases the GIL and wakes up for messages and 20 times a second for signals,
//! which only Python's main thread receives. A panic ends the working thread, not Python.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use matmech::commands::steps::Steps;
use matmech::progress::{Iteration, observed};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors;

/// Time between two checks for signals.
const POLL: Duration = Duration::from_millis(50);

/// How long an interrupted solver may take to return its best iterate.
const PATIENCE: Duration = Duration::from_millis(700);

/// Stack of the working thread, that of a main thread.
const STACK: usize = 8 << 20;

/// The result of work, or of the part that was done when an exception ended it.
pub(crate) type Outcome<T> = (Option<T>, Option<Py<PyAny>>);

enum Message<T> {
    Iteration(Iteration),
    Finished(Result<matmech::Result<T>, String>),
}

/// Runs work on another thread.
///
/// After Ctrl-C, or an exception of `progress`, solvers are asked to stop. Work that does not
/// return in time is left alone: it ends by itself, and its result is dropped.
///
/// # Errors
/// The error of the work, or a panic.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce() -> matmech::Result<T> + Send + 'static,
) -> PyResult<Outcome<T>> {
    let stop = Arc::new(AtomicBool::new(false));
    let (sender, mut receiver) = channel();
    let (stopped, reports, iterations) = (stop.clone(), progress.is_some(), sender.clone());
    let observer = move |iteration: &Iteration| {
        if reports {
            // Nobody listens after an interruption.
            let _ = iterations.send(Message::Iteration(*iteration));
        }
        !stopped.load(Ordering::Relaxed)
    };
    let thread = std::thread::Builder::new().name("matmech".into()).stack_size(STACK);
    thread.spawn(move || {
        let result = catch_unwind(AssertUnwindSafe(|| observed(observer, work)));
        let _ = sender.send(Message::Finished(result.map_err(|panic| text_of(&*panic))));
    })?;
    let mut checked = Instant::now();
    let interrupt = loop {
        let (message, back) = next(py, receiver, POLL);
        receiver = back;
        match message {
            Ok(Message::Finished(result)) => return finished(py, result, None),
            Ok(Message::Iteration(iteration)) => {
                if let Some(Err(error)) = progress.as_ref().map(|f| report(py, f, &iteration)) {
                    break error;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return finished(py, Err("the working thread ended".to_owned()), None);
            }
        }
        if checked.elapsed() >= POLL {
            if let Err(error) = py.check_signals() {
                break error;
            }
            checked = Instant::now();
        }
    };
    stop.store(true, Ordering::Relaxed);
    let asked = Instant::now();
    while let Some(left) = PATIENCE.checked_sub(asked.elapsed()) {
        let (message, back) = next(py, receiver, left);
        receiver = back;
        match message {
            Ok(Message::Finished(Ok(Ok(value)))) => {
                return finished(py, Ok(Ok(value)), Some(interrupt));
            }
            Ok(Message::Iteration(_)) => {}
            _ => break,
        }
    }
    Ok((None, Some(interrupt.into_value(py).into_any())))
}

/// A release waits for its end once its budget is reserved, and reserves nothing once it is stopped.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    /// 0 before the reservation, then `RESERVED` or `STOPPED`, whichever is first.
    state: AtomicU8,
}

const RESERVED: u8 = 1;
const STOPPED: u8 = 2;

impl Gate {
    fn enter(&self, state: u8) -> bool {
        self.state.compare_exchange(0, state, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }
}

impl Steps for Gate {
    fn start(&self, _name: &'static str, _parts: Option<usize>) {}

    fn done(&self, _parts: usize) {}

    fn finish(&self) {}

    fn reserving(&self, _line: &str) -> matmech::Result<()> {
        if self.enter(RESERVED) {
            return Ok(());
        }
        let remedy = "nothing was spent; make the release again";
        Err(matmech::Error::bad_input("release", "no interruption", "Ctrl-C", remedy))
    }
}

/// Runs a release on another thread, without observing it.
///
/// Ctrl-C before the reservation ends it, and nothing is spent. After the reservation, which cannot
/// be undone, the release is finished first.
///
/// # Errors
/// The error of the work, or a panic.
pub(crate) fn run_release<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&Gate) -> matmech::Result<T> + Send + 'static,
) -> PyResult<Outcome<T>> {
    let gate = Arc::new(Gate::default());
    let (sender, mut receiver) = channel();
    let inner = gate.clone();
    let thread = std::thread::Builder::new().name("matmech".into()).stack_size(STACK);
    thread.spawn(move || {
        let result = catch_unwind(AssertUnwindSafe(|| work(&inner)));
        let _ = sender.send(Message::Finished(result.map_err(|_| hidden())));
    })?;
    let mut interrupt = None;
    loop {
        let (message, back) = next(py, receiver, POLL);
        receiver = back;
        match message {
            Ok(Message::Finished(result)) => return finished(py, result, interrupt),
            Ok(Message::Iteration(_)) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return finished(py, Err("the working thread ended".to_owned()), interrupt);
            }
        }
        if interrupt.is_none()
            && let Err(error) = py.check_signals()
        {
            if gate.enter(STOPPED) {
                return Ok((None, Some(error.into_value(py).into_any())));
            }
            interrupt = Some(error);
        }
    }
}

/// Returns the text of a panic in a release. Its own text may depend on records.
fn hidden() -> String {
    "in a release".to_owned()
}

/// Waits for a message without the GIL.
fn next<T: Send>(
    py: Python<'_>,
    receiver: Receiver<Message<T>>,
    limit: Duration,
) -> (Result<Message<T>, RecvTimeoutError>, Receiver<Message<T>>) {
    py.detach(move || (receiver.recv_timeout(limit), receiver))
}

fn finished<T>(
    py: Python<'_>,
    result: Result<matmech::Result<T>, String>,
    interrupt: Option<PyErr>,
) -> PyResult<Outcome<T>> {
    match result {
        Ok(Ok(value)) => Ok((Some(value), interrupt.map(|error| error.into_value(py).into_any()))),
        Ok(Err(error)) => Err(errors::exception(py, &error)),
        Err(panic) => Err(errors::panic(py, &panic)),
    }
}

fn report(py: Python<'_>, progress: &Py<PyAny>, iteration: &Iteration) -> PyResult<()> {
    let words = PyDict::new(py);
    words.set_item("iterations", iteration.iterations)?;
    words.set_item("lower_bound", iteration.lower_bound)?;
    words.set_item("upper_bound", iteration.upper_bound)?;
    progress.call1(py, (words,)).map(drop)
}

fn text_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}
