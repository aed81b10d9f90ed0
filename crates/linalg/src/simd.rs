//! Loops compiled for the widest vector instructions of the processor.

/// The vector instructions of the processor.
///
/// They are detected once per operation and passed to its inner loops. Results do not depend on
/// them: the loops fix the order of additions, and none is contracted.
#[derive(Debug, Clone, Copy)]
pub struct Wide(pulp::Arch);

/// Loops over slices, with their arguments.
///
/// A trait instead of a closure: only `#[inline(always)]` functions are sure to be compiled for the
/// detected instructions.
pub trait Loops {
    /// Runs the loops.
    ///
    /// Must be `#[inline(always)]`, like everything it calls.
    fn run(self);
}

impl Wide {
    /// Detects the processor's instructions.
    #[inline]
    pub fn detect() -> Self {
        Wide(pulp::Arch::new())
    }

    /// Runs loops with these instructions.
    #[inline(always)]
    pub fn run(self, loops: impl Loops) {
        struct Call<L>(L);
        impl<L: Loops> pulp::NullaryFnOnce for Call<L> {
            type Output = ();
            #[inline(always)]
            fn call(self) {
                self.0.run();
            }
        }
        self.0.dispatch(Call(loops));
    }
}
