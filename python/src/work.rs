//! Work on another thread, while the calling thread handles signals and progress.
//!
//! The calling thread releases the GIL and wakes up for messages and 20 times a second for signals,
//! which only Python's main thread receives. A panic ends the working thread, not Python. Its
//! text, which may depend on records, is shown nowhere.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use matmech::data::CountedRows;
use matmech::progress::{Iteration, observed};
use matmech_app::steps::Steps;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors;

/// Time between two checks for signals.
const POLL: Duration = Duration::from_millis(50);

/// How long an interrupted solver may take to return its best iterate.
const PATIENCE: Duration = Duration::from_millis(700);

/// What is said of a panic in a release. Even its source line may depend on records.
const RELEASE: &str = "in a release";

/// What is said of a panic when columns are converted or checked.
const READING: &str = "while reading the records";

/// Stack of a working thread, that of a main thread.
pub(crate) const STACK: usize = 8 << 20;

/// The result of work, or of the part that was done when an exception ended it.
pub(crate) type Outcome<T> = (Option<T>, Option<Py<PyAny>>);

/// A step of a release, of which `done` parts are done.
#[derive(Debug, Clone, Copy)]
struct Step {
    name: &'static str,
    parts: Option<usize>,
    done: usize,
}

enum Message<T> {
    Iteration(Iteration),
    Step(Step),
    /// A statement for a callable, which may belong to the calling thread.
    Query(Query),
    Finished(Result<matmech::Result<T>, String>),
}

/// A statement, what runs it, and where its rows go; none if it failed.
pub(crate) struct Query {
    pub(crate) rows: Py<PyAny>,
    pub(crate) statement: String,
    pub(crate) reply: Sender<Option<CountedRows>>,
}

/// What passes a query on to the calling thread.
type Ask = Box<dyn Fn(Query)>;

thread_local! {
    /// Source line of the last panic of a thread.
    static LAST_PANIC: Cell<Option<String>> = const { Cell::new(None) };
    /// Passes queries of the working thread of a release on.
    static ASK: Cell<Option<Ask>> = const { Cell::new(None) };
}

/// Passes a query on to the calling thread of the release that runs on this thread.
pub(crate) fn ask(query: Query) {
    ASK.with(|ask| {
        let passed = ask.take();
        if let Some(passed) = &passed {
            passed(query);
        }
        ask.set(passed);
    });
}

/// Runs a statement. What an exception says may have a value of a record.
fn answer(py: Python<'_>, query: &Query) -> Option<CountedRows> {
    query.rows.call1(py, (&query.statement,)).ok()?.extract(py).ok()
}

/// Installs a panic hook that prints nothing, where the default one prints the text to stderr.
///
/// The hook is that of this module's copy of the standard library, so it has no effect on other
/// native modules of the process.
pub(crate) fn silence_panics() {
    set_hook(Box::new(|panic| LAST_PANIC.set(panic.location().map(ToString::to_string))));
}

/// Returns the result of work, or the source line of its panic.
fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work))
        .map_err(|_| format!("at {}", LAST_PANIC.take().unwrap_or_default()))
}

/// Runs work with records on the calling thread.
///
/// # Errors
/// The error of the work, or a panic, whose text would otherwise be that of PyO3's exception.
pub(crate) fn guarded<T>(py: Python<'_>, work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    caught(work).unwrap_or_else(|_| Err(errors::panic(py, READING)))
}

/// Panics in a function of this module, for tests of what is printed.
#[pyfunction]
pub(crate) fn panic(py: Python<'_>, function: &str, text: String) -> PyResult<Outcome<()>> {
    match function {
        "run" => run(py, None, move || panics(&text)),
        "run_release" => run_release(py, None, move |_| panics(&text)),
        _ => guarded(py, || panics(&text)),
    }
}

/// Panics with a text on a thread without a name, and then on the calling thread.
fn panics<T>(text: &str) -> T {
    std::thread::scope(|scope| drop(scope.spawn(|| unreachable!("{text}")).join()));
    unreachable!("{text}")
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
        let _ = sender.send(Message::Finished(caught(|| observed(observer, work))));
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
            Ok(Message::Step(_) | Message::Query(_)) | Err(RecvTimeoutError::Timeout) => {}
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
            Ok(Message::Iteration(_) | Message::Step(_) | Message::Query(_)) => {}
            _ => break,
        }
    }
    Ok((None, Some(interrupt.into_value(py).into_any())))
}

/// A release waits for its end once its budget is reserved, and reserves nothing once it is stopped.
struct Gate {
    /// 0 before the reservation, then `RESERVED` or `STOPPED`, whichever is first.
    state: AtomicU8,
    step: Mutex<Step>,
    /// Sends a step to the calling thread; `None` without a callback.
    send: Option<Box<dyn Fn(Step) + Send + Sync>>,
}

const RESERVED: u8 = 1;
const STOPPED: u8 = 2;

impl Gate {
    /// Returns whether the state is the given one, which the first call sets. A draft makes several
    /// reservations.
    fn enter(&self, state: u8) -> bool {
        let previous = self.state.compare_exchange(0, state, Ordering::SeqCst, Ordering::SeqCst);
        previous.map_or_else(|known| known == state, |_| true)
    }

    /// Changes the current step, and reports it.
    fn change(&self, change: impl FnOnce(&mut Step)) {
        let Ok(mut step) = self.step.lock() else { return };
        change(&mut step);
        if let Some(send) = &self.send {
            send(*step);
        }
    }
}

impl Steps for Gate {
    fn start(&self, name: &'static str, parts: Option<usize>) {
        self.change(|step| *step = Step { name, parts, done: 0 });
    }

    fn done(&self, parts: usize) {
        self.change(|step| step.done = parts);
    }

    fn finish(&self) {}

    fn reserving(&self, _line: &str) -> matmech::Result<()> {
        if self.enter(RESERVED) {
            return Ok(());
        }
        let remedy = "nothing was spent; make the release again";
        Err(matmech::Error::bad_input("release", "no interruption", "Ctrl-C", remedy))
    }
}

/// Runs a release on another thread. Its steps, which do not depend on records, are reported to
/// `progress`; its iterations, which do, are not.
///
/// Ctrl-C, or an exception of `progress`, ends it before the reservation, and nothing is spent.
/// After the reservation, which cannot be undone, the release is finished first.
///
/// # Errors
/// The error of the work, or a panic.
pub(crate) fn run_release<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&dyn Steps) -> matmech::Result<T> + Send + 'static,
) -> PyResult<Outcome<T>> {
    let (sender, mut receiver) = channel();
    let steps = sender.clone();
    let send = move |step: Step| {
        // Nobody listens after an interruption.
        let _ = steps.send(Message::Step(step));
    };
    let gate = Arc::new(Gate {
        state: AtomicU8::new(0),
        step: Mutex::new(Step { name: "", parts: None, done: 0 }),
        send: progress.is_some().then(|| Box::new(send) as Box<dyn Fn(Step) + Send + Sync>),
    });
    let inner = gate.clone();
    let queries = sender.clone();
    let thread = std::thread::Builder::new().name("matmech".into()).stack_size(STACK);
    thread.spawn(move || {
        ASK.set(Some(Box::new(move |query| drop(queries.send(Message::Query(query))))));
        let result = caught(|| work(&*inner)).map_err(|_| RELEASE.to_owned());
        ASK.set(None);
        let _ = sender.send(Message::Finished(result));
    })?;
    let mut interrupt = None;
    loop {
        let (message, back) = next(py, receiver, POLL);
        receiver = back;
        let mut raised = match message {
            Ok(Message::Finished(result)) => return finished(py, result, interrupt),
            Ok(Message::Step(step)) if interrupt.is_none() => {
                progress.as_ref().and_then(|f| report_step(py, f, &step).err())
            }
            Ok(Message::Query(query)) => {
                // Nobody waits after a panic.
                let _ = query.reply.send(answer(py, &query));
                None
            }
            Ok(Message::Iteration(_) | Message::Step(_)) | Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                return finished(py, Err("the working thread ended".to_owned()), interrupt);
            }
        };
        if interrupt.is_none() {
            raised = raised.or_else(|| py.check_signals().err());
            if let Some(error) = raised {
                if gate.enter(STOPPED) {
                    return Ok((None, Some(error.into_value(py).into_any())));
                }
                interrupt = Some(error);
            }
        }
    }
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

fn report_step(py: Python<'_>, progress: &Py<PyAny>, step: &Step) -> PyResult<()> {
    let words = PyDict::new(py);
    words.set_item("step", step.name)?;
    words.set_item("parts", step.parts)?;
    words.set_item("done", step.done)?;
    progress.call1(py, (words,)).map(drop)
}
