//! Mechanisms of Python in simulations.
//!
//! The records belong to the working thread. A mechanism runs on another thread, so that it can
//! call its [`Access`] from Python: every call is a [`Request`] to the working thread, which pays and
//! answers it with the access of the simulation.

use std::collections::HashMap;
use std::fmt;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, scope};

use matmech::access::{Candidate, CandidateSelection, Candidates, PaidAccess, Question};
use matmech::domain::AttributeSet;
use matmech::estimation::MarginalEstimates;
use matmech::mechanism::{Mechanism, RunReport};
use matmech::privacy::{NoiseStream, Rho};
use matmech::progress::goes_on;
use matmech::workload::GroupedWorkload;
use matmech::{Error, Result};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::errors;
use crate::work::STACK;

/// A measurement that costs this share of the budget more than is left gets what is left.
const ROUNDING: f64 = 1e-9;

/// A mechanism of `simulate`: a name with options, or the name and the function of an object.
#[derive(FromPyObject)]
pub(crate) enum Chosen {
    /// Of the registry.
    Named(String),
    /// `function(access, names, sizes, groups)`, which returns the marginal of every group.
    Custom((String, Py<PyAny>)),
}

/// The exception that a mechanism raised.
pub(crate) type Raised = Arc<Mutex<Option<PyErr>>>;

/// A mechanism of Python.
pub(crate) struct Custom {
    name: String,
    function: Py<PyAny>,
    raised: Raised,
}

/// A group of queries: the positions of its attributes, and its family.
type Group = (Vec<usize>, &'static str);

/// Answers of a mechanism: one marginal per group, row-major.
type Marginals = Vec<Vec<f64>>;

enum Request {
    /// The total and the remaining ρ.
    Budget(Reply<(f64, f64)>),
    Measure {
        positions: Vec<usize>,
        variance: f64,
        is_residual: bool,
        reply: Reply<Vec<f64>>,
    },
    Select {
        /// The attributes, the estimate of the marginal, and the weight of every candidate.
        candidates: Vec<(Vec<usize>, Vec<f64>, f64)>,
        epsilon: f64,
        reply: Reply<usize>,
    },
    Finished(PyResult<Marginals>),
}

type Reply<T> = Sender<Result<T>>;

/// Access of a mechanism of Python to the records, during its run.
#[pyclass(frozen)]
#[derive(Debug)]
pub(crate) struct Access {
    requests: Sender<Request>,
}

/// The estimates that a mechanism compares in a selection.
struct Given(HashMap<AttributeSet, Vec<f64>>);

impl Custom {
    pub(crate) fn new(name: String, function: Py<PyAny>, raised: Raised) -> Self {
        Custom { name, function, raised }
    }

    fn call(
        &self,
        py: Python<'_>,
        requests: Sender<Request>,
        workload: &GroupedWorkload,
    ) -> PyResult<Marginals> {
        let attributes = workload.schema().attributes();
        let names: Vec<&str> = attributes.iter().map(|a| a.name.as_str()).collect();
        let groups = workload.groups().iter();
        let groups: Vec<Group> = groups
            .map(|group| {
                let positions = group.attributes().positions().collect();
                (positions, group.family())
            })
            .collect();
        let access = Access { requests };
        let arguments = (access, names, workload.schema().sizes(), groups);
        let found = self.function.bind(py).call1(arguments)?;
        let found: Vec<PyReadonlyArray1<'_, f64>> = found.extract()?;
        Ok(found.iter().map(|marginal| marginal.as_array().to_vec()).collect())
    }

    /// Answers the requests of a run until it ends, and returns its marginals.
    fn serve(&self, workload: &GroupedWorkload, access: &mut dyn PaidAccess) -> Result<Marginals> {
        let (requests, received) = channel();
        let found = scope(|threads| -> Result<PyResult<Marginals>> {
            let call = || {
                let sender = requests.clone();
                let found = Python::attach(|py| self.call(py, sender, workload));
                // The working thread waits for it.
                let _ = requests.send(Request::Finished(found));
            };
            let thread = Builder::new().name("mechanism".into()).stack_size(STACK);
            thread
                .spawn_scoped(threads, call)
                .map_err(|source| Error::bug("simulation", "a thread for the mechanism", source))?;
            let mut count = 0;
            loop {
                let request = received
                    .recv()
                    .map_err(|_| Error::bug("simulation", "the end of a run", "none"))?;
                if let Request::Finished(found) = request {
                    return Ok(found);
                }
                count += 1;
                request.answer(access, goes_on(count, 0.0, f64::INFINITY));
            }
        })?;
        found.map_err(|error| {
            if let Ok(mut raised) = self.raised.lock() {
                *raised = Some(error);
            }
            Error::bad_input(
                format!("mechanism `{}`", self.name),
                "marginals",
                "an exception",
                "read the exception",
            )
        })
    }
}

impl fmt::Debug for Custom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Custom").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Mechanism for Custom {
    fn name(&self) -> &str {
        &self.name
    }

    fn summary(&self) -> &str {
        "a mechanism of Python"
    }

    fn is_adaptive(&self) -> bool {
        true
    }

    fn run(
        &self,
        workload: &GroupedWorkload,
        access: &mut dyn PaidAccess,
        answers: &mut dyn FnMut(usize, &[f64]) -> Result<()>,
    ) -> Result<RunReport> {
        let marginals = self.serve(workload, access)?;
        let groups = workload.groups();
        let refused = |expected: String, found: String| {
            let remedy = "return the estimated marginal of every group, in order";
            Error::bad_input(
                format!("answers of mechanism `{}`", self.name),
                expected,
                found,
                remedy,
            )
        };
        if marginals.len() != groups.len() {
            let found = format!("{} marginals", marginals.len());
            return Err(refused(format!("{} marginals", groups.len()), found));
        }
        for (index, (group, marginal)) in groups.iter().zip(&marginals).enumerate() {
            let cells: usize = workload.schema().shape_of(group.attributes())?.iter().product();
            if marginal.len() != cells || marginal.iter().any(|x| !x.is_finite()) {
                let names = workload.schema().names(group.attributes());
                let expected = format!("{cells} finite numbers for ({names})");
                return Err(refused(expected, format!("{} numbers", marginal.len())));
            }
            answers(index, &group.answers(marginal)?)?;
        }
        Ok(RunReport::default())
    }
}

impl Request {
    /// Answers the request, or refuses it after an interruption. Nobody waits for the answer if
    /// Python ends.
    fn answer(self, access: &mut dyn PaidAccess, goes_on: bool) {
        fn send<T>(reply: &Reply<T>, goes_on: bool, answer: impl FnOnce() -> Result<T>) {
            let interrupted =
                || Error::bad_input("simulation", "no interruption", "Ctrl-C", "run it again");
            let _ = reply.send(if goes_on { answer() } else { Err(interrupted()) });
        }
        match self {
            Request::Budget(reply) => send(&reply, goes_on, || {
                Ok((access.total().get(), access.remaining().map_or(0.0, Rho::get)))
            }),
            Request::Measure { positions, variance, is_residual, reply } => {
                send(&reply, goes_on, || {
                    let attributes = AttributeSet::from_positions(&positions)?;
                    let question = |variance| match is_residual {
                        true => Question::Residual { attributes, variance },
                        false => Question::Marginal { attributes, variance },
                    };
                    let cost = question(variance).cost(access.sizes())?.get();
                    let left = access.remaining().map_or(0.0, Rho::get);
                    let is_rounding = cost > left && cost - left <= ROUNDING * access.total().get();
                    let scale = if is_rounding { cost / left * (1.0 + ROUNDING) } else { 1.0 };
                    access.measure(&question(variance * scale), NoiseStream::Shared)
                });
            }
            Request::Select { candidates, epsilon, reply } => send(&reply, goes_on, || {
                let (mut list, mut given) = (Vec::new(), HashMap::new());
                for (positions, estimate, weight) in candidates {
                    let attributes = AttributeSet::from_positions(&positions)?;
                    list.push(Candidate { attributes, cells: estimate.len(), weight });
                    if given.insert(attributes, estimate).is_some() {
                        let found = format!("{positions:?} twice");
                        let remedy = "drop one";
                        let what = "candidates of a selection";
                        return Err(Error::bad_input(what, "different ones", found, remedy));
                    }
                }
                let selection = CandidateSelection { epsilon, penalty_per_cell: 0.0 };
                access.select(&selection, &Candidates::new(list), &Given(given))
            }),
            Request::Finished(_) => {}
        }
    }
}

impl MarginalEstimates for Given {
    fn marginal(&self, gamma: AttributeSet) -> Result<Vec<f64>> {
        self.0.get(&gamma).cloned().ok_or_else(|| {
            Error::bug("selection", "an estimate of every candidate", format!("{gamma:?}"))
        })
    }
}

impl Access {
    fn ask<T: Send>(
        &self,
        py: Python<'_>,
        request: impl FnOnce(Reply<T>) -> Request,
    ) -> PyResult<T> {
        let (reply, answer) = channel();
        let ended = || {
            let remedy = "use the access in `run` only";
            let what = "access to the records";
            errors::exception(
                py,
                &Error::bad_input(what, "a call during the run", "a later one", remedy),
            )
        };
        self.requests.send(request(reply)).map_err(|_| ended())?;
        let answer = py.detach(move || answer.recv()).map_err(|_| ended())?;
        answer.map_err(|error| errors::exception(py, &error))
    }
}

#[pymethods]
impl Access {
    /// Returns the total and the remaining ρ.
    fn budget(&self, py: Python<'_>) -> PyResult<(f64, f64)> {
        self.ask(py, Request::Budget)
    }

    /// Measures the marginal on ascending positions, or its residual, row-major.
    fn measure<'py>(
        &self,
        py: Python<'py>,
        positions: Vec<usize>,
        variance: f64,
        is_residual: bool,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let request = |reply| Request::Measure { positions, variance, is_residual, reply };
        Ok(self.ask(py, request)?.into_pyarray(py))
    }

    /// Returns the index of the candidate that the exponential mechanism selects.
    fn select(
        &self,
        py: Python<'_>,
        candidates: Vec<(Vec<usize>, PyReadonlyArray1<'_, f64>, f64)>,
        epsilon: f64,
    ) -> PyResult<usize> {
        let candidates = candidates
            .into_iter()
            .map(|(positions, estimate, weight)| (positions, estimate.as_array().to_vec(), weight))
            .collect();
        self.ask(py, |reply| Request::Select { candidates, epsilon, reply })
    }
}
