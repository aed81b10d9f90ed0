//! The verdicts, with their names and meanings in reports.

/// The relation of our value to the known value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Equal to all printed digits, or within the band or tolerance.
    Reproduced,
    /// Reproduced under a reading of the paper that was chosen because it gives the printed value.
    Fitted,
    /// A lower error than published, certified optimal.
    Improved,
    /// A lower error than published for a documented reason, not certified optimal; or less memory.
    Lower,
    /// Different from the published value for a documented reason, and equal to the documented
    /// value. For times and memory, which depend on the machine, only the reason is documented.
    Deviates,
    /// Different from the published value and equal to the documented value; the cause is not
    /// proven.
    Unexplained,
    /// Published under conditions that cannot be repeated, or not published.
    NotComparable,
    /// Not in the grid of the profile `quick`.
    NotRun,
    /// An undocumented mismatch or a missing result.
    Failed,
}

impl Verdict {
    /// All verdicts, in the order of reports.
    pub const ALL: [Self; 9] = [
        Self::Reproduced,
        Self::Fitted,
        Self::Improved,
        Self::Lower,
        Self::Deviates,
        Self::Unexplained,
        Self::NotComparable,
        Self::NotRun,
        Self::Failed,
    ];

    /// Returns the word used in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::Fitted => "reproduced (reading fitted)",
            Self::Improved => "improved",
            Self::Lower => "lower",
            Self::Deviates => "deviates",
            Self::Unexplained => "unexplained",
            Self::NotComparable => "not comparable",
            Self::NotRun => "not run",
            Self::Failed => "FAILED",
        }
    }

    /// Returns the rank in reports: differences from the paper first, reproduced values last.
    #[must_use]
    pub fn interest(self) -> u8 {
        match self {
            Self::Failed => 0,
            Self::Unexplained => 1,
            Self::Deviates => 2,
            Self::Lower => 3,
            Self::Improved => 4,
            Self::NotComparable => 5,
            Self::Fitted => 6,
            Self::Reproduced => 7,
            Self::NotRun => 8,
        }
    }

    /// Returns the meaning, for the legend of reports.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Reproduced => {
                "equal to all printed digits, or within the stated band or tolerance"
            }
            Self::Fitted => {
                "as reproduced, with a variant, a parameter or a rounding that the paper does not \
                 state and that was chosen because it gives the printed values"
            }
            Self::Improved => {
                "lower error than published, certified optimal (relative gap at most 1e-6)"
            }
            Self::Lower => {
                "lower error than published for a documented reason, not certified optimal; \
                 or less memory"
            }
            Self::Deviates => {
                "different for a documented reason, and equal to the documented value (ratios \
                 of times or memory: outside the stated tolerance)"
            }
            Self::Unexplained => {
                "different, and equal to the documented value (ratios of times or memory: outside \
                 the stated tolerance); the cause is not proven"
            }
            Self::NotComparable => {
                "times on other hardware, data that are not on this machine, or no value in the \
                 paper"
            }
            Self::NotRun => "not in the grid of this profile",
            Self::Failed => "undocumented mismatch or missing result",
        }
    }
}
