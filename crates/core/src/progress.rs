//! Progress and interruption of solvers.
//!
//! A solver reports every iteration to the observer of its thread, which decides whether it goes
//! on. A solver that is stopped returns its best iterate, with bounds that hold and
//! [`Status::Interrupted`](crate::Status::Interrupted).
//!
//! ```
//! use matmech_core::{Optimal, Status, StrategySelector, Workload, progress};
//! let gram = Workload::parse("range:64")?.gram()?;
//! let stopped = progress::observed(|step| step.iterations < 3, || Optimal::default().select(&gram))?;
//! assert_eq!(stopped.certificate.map(|c| c.status), Some(Status::Interrupted));
//! # Ok::<(), matmech_core::Error>(())
//! ```

use std::cell::RefCell;

/// An iteration of a solver.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Iteration {
    /// The number of iterations of this solver so far.
    pub iterations: usize,
    /// The lower bound so far; 0 if there is none.
    pub lower_bound: f64,
    /// The smallest error so far, in the unit of the solver; infinite if there is none.
    pub upper_bound: f64,
}

type Observer = Box<dyn FnMut(&Iteration) -> bool>;

thread_local! {
    static OBSERVER: RefCell<Option<Observer>> = const { RefCell::new(None) };
}

/// Restores the previous observer, also after a panic.
struct Previous(Option<Observer>);

impl Drop for Previous {
    fn drop(&mut self) {
        OBSERVER.set(self.0.take());
    }
}

/// Runs work whose solvers report to an observer, which returns whether to go on.
pub fn observed<T>(
    observer: impl FnMut(&Iteration) -> bool + 'static,
    work: impl FnOnce() -> T,
) -> T {
    let _previous = Previous(OBSERVER.replace(Some(Box::new(observer))));
    work()
}

/// Reports an iteration; returns whether to go on.
pub fn goes_on(iterations: usize, lower_bound: f64, upper_bound: f64) -> bool {
    OBSERVER.with(|observer| match observer.try_borrow_mut() {
        Ok(mut observer) => observer
            .as_mut()
            .is_none_or(|observer| observer(&Iteration { iterations, lower_bound, upper_bound })),
        // The observer itself runs a solver.
        Err(_) => true,
    })
}
