//! The lines of a ledger, and the chain of their hashes.

use serde::{Deserialize, Serialize};

use crate::decimal::Decimal;
use crate::error::{Error, Place, Result};
use crate::hash::sha256;
use crate::privacy::{PrivacyUnit, Rho};

/// The version of the format that is written.
const FORMAT: u32 = 3;

/// The oldest version that is read; its settlements have no hash of a folder.
const OLDEST_FORMAT: u32 = 2;

/// The first line: the number of lines and the hash of the last line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Head {
    ledger: u32,
    /// Ten digits, so that the length of the line is fixed.
    lines: String,
    last: String,
}

impl Head {
    pub(super) fn of(lines: usize, last: &str) -> Self {
        Head { ledger: FORMAT, lines: format!("{lines:010}"), last: sha256(last.as_bytes()) }
    }
}

/// The second line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Opening {
    pub(super) total_rho: f64,
    /// δ of the budget, if it was given as (ε, δ).
    pub(super) delta: Option<f64>,
    pub(super) unit: PrivacyUnit,
    /// The column that identifies persons, if all records of a person are protected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) person: Option<String>,
    /// The attribute whose values are stated to differ between the records of a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) distinct: Option<String>,
}

/// Any later line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub(super) enum Line {
    Reserve {
        reserve: u64,
        rho: f64,
        /// δ′ of values that are not public, if it is reserved.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        new_delta: Option<f64>,
        what: String,
        previous: String,
    },
    Settle {
        settle: u64,
        /// The SHA-256 of the file `SHA256SUMS` of the release's folder.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        folder: Option<String>,
        previous: String,
    },
}

/// A reservation of a validated ledger.
pub(super) struct Reserved {
    pub(super) line: usize,
    /// The SHA-256 of the text of its line.
    pub(super) hash: String,
    pub(super) is_settled: bool,
    /// The SHA-256 of the checksums of the folder, from the settlement.
    pub(super) folder: Option<String>,
}

/// The contents of a validated ledger.
pub(super) struct Contents {
    pub(super) opening: Opening,
    pub(super) total: Rho,
    /// The exact sum of the reserved decimal numbers ρ.
    pub(super) spent: Decimal,
    /// The exact sum of the reserved decimal numbers δ′.
    pub(super) spent_new_delta: Decimal,
    pub(super) reservations: Vec<Reserved>,
    pub(super) lines: usize,
    pub(super) last: String,
}

/// Returns the text of a line.
pub(super) fn text_of(line: &impl Serialize) -> Result<String> {
    serde_json::to_string(line).map_err(|e| Error::bug("ledger", "a line that can be written", e))
}

/// Parses all lines and checks the chain of hashes.
pub(super) fn read_text(text: &str, origin: &str) -> Result<Contents> {
    let refuse = |line: usize, expected: &str, found: String| Error::Parse {
        origin: origin.to_owned(),
        place: Some(Place { line, column: 0 }),
        expected: expected.to_owned(),
        found,
        remedy: "restore the ledger from a complete copy; only a last line without a line end can \
                 be removed manually instead, as a run with such a reservation has read no data"
            .into(),
    };
    let lines: Vec<&str> = text.lines().collect();
    if !text.ends_with('\n') {
        let found = "a last line without a line end".into();
        return Err(refuse(lines.len().max(1), "a ledger of complete lines", found));
    }
    let bad_head =
        |found: &str| refuse(1, "the first line of a ledger of version 2 or 3", found.into());
    let head: Head = serde_json::from_str(lines[0]).map_err(|_| bad_head("something else"))?;
    let promised = head
        .lines
        .parse::<usize>()
        .ok()
        .filter(|_| head.lines.len() == 10 && (OLDEST_FORMAT..=FORMAT).contains(&head.ledger));
    let promised = promised.ok_or_else(|| bad_head("another"))?;
    if lines.len() < promised.max(2) {
        let found = format!("{} lines: the last lines were removed", lines.len());
        return Err(refuse(lines.len(), &format!("a ledger of {promised} lines"), found));
    }
    let opening: Opening = serde_json::from_str(lines[1])
        .map_err(|_| refuse(2, "the budget of a ledger", "something else".into()))?;
    let total = Rho::new(opening.total_rho).map_err(|e| refuse(2, "a total", e.to_string()))?;
    if opening.unit.rows == 0 {
        return Err(refuse(2, "at least one record per person", "0".into()));
    }
    if opening.unit.distinct.is_some() {
        return Err(refuse(2, "a unit without the position of an attribute", "one".into()));
    }
    let last = sha256(lines[1].as_bytes());
    let mut read = Contents {
        opening,
        total,
        spent: 0i64.into(),
        spent_new_delta: 0i64.into(),
        reservations: Vec::new(),
        lines: 2,
        last,
    };
    let mut is_last = read.lines == promised && read.last == head.last;
    for (index, line) in lines.iter().enumerate().skip(2) {
        let number = index + 1;
        let parsed: Line = serde_json::from_str(line)
            .map_err(|_| refuse(number, "a line of a ledger", "something else".into()))?;
        let (Line::Reserve { previous, .. } | Line::Settle { previous, .. }) = &parsed;
        if *previous != read.last {
            let found = "another hash: lines were changed, moved or removed".into();
            return Err(refuse(number, "the hash of the line before", found));
        }
        read.last = sha256(line.as_bytes());
        read.lines = number;
        is_last |= number == promised && read.last == head.last;
        match parsed {
            Line::Reserve { reserve, rho, new_delta, .. }
                if reserve == read.reservations.len() as u64 + 1 =>
            {
                let rho = Rho::new(rho).map_err(|e| refuse(number, "a cost", e.to_string()))?;
                read.spent = read.spent.plus(&rho.decimal());
                if let Some(delta) = new_delta {
                    let delta = Decimal::shortest(delta).filter(|_| 0.0 < delta && delta < 1.0);
                    let found = || refuse(number, "a delta between 0 and 1", "another".into());
                    read.spent_new_delta = read.spent_new_delta.plus(&delta.ok_or_else(found)?);
                }
                let hash = read.last.clone();
                read.reservations.push(Reserved {
                    line: number,
                    hash,
                    is_settled: false,
                    folder: None,
                });
            }
            Line::Reserve { .. } => {
                return Err(refuse(number, "reservations counted from 1", "another number".into()));
            }
            Line::Settle { settle, folder, .. } => {
                let index = usize::try_from(settle).ok().and_then(|n| n.checked_sub(1));
                match index.and_then(|n| read.reservations.get_mut(n)) {
                    Some(reserved) if !reserved.is_settled => {
                        reserved.is_settled = true;
                        reserved.folder = folder;
                    }
                    _ => {
                        return Err(refuse(
                            number,
                            "the settlement of an open reservation",
                            format!("a settlement of {settle}"),
                        ));
                    }
                }
            }
        }
    }
    if !is_last {
        let found = "a changed line".into();
        return Err(refuse(promised, "the line whose hash is in the first line", found));
    }
    Ok(read)
}
