//! Progress and interruption of solvers.
//!
//! A solver reports every iteration to the observer of its thread, which decides whether it goes
//! on. A solver that is stopped returns its best iterate, with bounds that hold and
//! `Status::Interrupted`.
//!
//! ```
//! use matmech_core::progress;
//! // A solver of Newton's method for the square root of 2.
//! let solve = || {
//!     let mut upper: f64 = 2.0;
//!     for step in 1.. {
//!         upper = (upper + 2.0 / upper) / 2.0;
//!         if !progress::goes_on(step, 2.0 / upper, upper) {
//!             break;
//!         }
//!     }
//!     upper
//! };
//! let root = progress::observed(|step| step.upper_bound / step.lower_bound > 1.0 + 1e-12, solve);
//! assert!((root - 2f64.sqrt()).abs() < 1e-12);
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
