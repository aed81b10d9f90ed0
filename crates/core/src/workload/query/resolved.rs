//! Queries over a schema: products of rows, and how the answers follow from them.

use super::mistake::Mistake;
use super::quantity::Quantity;
use super::rows::{By, Rows};
use super::syntax::{Query, Term};
use crate::error::Result;
use crate::schema::Schema;

/// Maximum number of answers to a query.
const MAX_ANSWERS: usize = 1 << 20;

/// A query over a schema: a sum of quantities, for every combination of values.
#[derive(Debug, Clone, PartialEq)]
pub struct ResolvedQuery {
    /// The canonical text.
    pub text: String,
    /// The attributes and levels of the combinations, as the query names them.
    pub by: Vec<By>,
    /// The terms with their signs, 1 or −1.
    pub terms: Vec<(f64, Quantity)>,
    /// What the answers mean, in sentences.
    pub notes: Vec<String>,
}

impl ResolvedQuery {
    /// Parses a query and resolves its names and values.
    ///
    /// # Errors
    /// Text outside the grammar, names or values that the schema does not have, limits inside a
    /// bin, or more than 2²⁰ answers. The message shows the position.
    pub fn parse(text: &str, schema: &Schema) -> Result<Self> {
        let query = Query::parse(text)?;
        resolved(&query, text, schema).map_err(|mistake| mistake.into_error(text))
    }

    /// Returns the number of answers.
    pub fn count(&self) -> usize {
        self.by.iter().map(|by| by.values.len()).product()
    }

    /// Returns the values of the combination of an answer; those of the last attribute vary
    /// fastest.
    pub fn combination(&self, answer: usize) -> Vec<&str> {
        self.by.iter().zip(self.chosen(answer)).map(|(by, k)| by.values[k].as_str()).collect()
    }

    fn chosen(&self, answer: usize) -> Vec<usize> {
        let counts: Vec<usize> = self.by.iter().map(|by| by.values.len()).collect();
        crate::domain::coordinates(&counts, answer)
    }

    /// Returns the index of the value of an attribute in the combination of an answer; `None` if
    /// the attribute is not in `by`.
    pub fn value_of(&self, answer: usize, position: usize) -> Option<usize> {
        let by = self.by.iter().position(|by| by.position == position)?;
        self.chosen(answer).get(by).copied()
    }
}

type Resolved<T> = std::result::Result<T, Mistake>;

fn resolved(query: &Query, text: &str, schema: &Schema) -> Resolved<ResolvedQuery> {
    let mut notes = Vec::new();
    let mut terms = Vec::with_capacity(query.terms.len());
    let mut common: Option<Vec<By>> = None;
    for term in &query.terms {
        let rows = Rows::of(term, text.len(), schema)?;
        let by = rows.by.iter().map(|(by, _)| by.clone()).collect::<Vec<By>>();
        match &common {
            None => common = Some(by),
            Some(first) if *first == by => {}
            Some(first) => return Err(different_by(first, &by, term, text)),
        }
        let sign = if term.is_subtracted { -1.0 } else { 1.0 };
        terms.push((sign, Quantity::of(&term.measure, &rows, schema, &mut notes)?));
    }
    let by = common.unwrap_or_default();
    let count = by.iter().try_fold(1usize, |count, by| count.checked_mul(by.values.len()));
    if count.is_none_or(|count| count > MAX_ANSWERS) {
        let names = query.terms.first().map_or(&[][..], |term| &term.by);
        let at = names.first().map_or(0, |name| name.at().start)
            ..names.last().map_or(0, |name| name.at().end);
        let found = by.iter().map(|by| by.values.len().to_string()).collect::<Vec<_>>();
        return Err(Mistake::new(
            at,
            format!("at most {MAX_ANSWERS} combinations of values"),
            found.join(" × "),
            "name fewer attributes in `by`, or levels of them",
        ));
    }
    Ok(ResolvedQuery { text: query.to_string(), by, terms, notes })
}

/// Refuses terms with different combinations.
fn different_by(first: &[By], found: &[By], term: &Term, text: &str) -> Mistake {
    let names = |by: &[By]| match by {
        [] => "no `by`".to_owned(),
        by => {
            let names = by.iter().map(|by| by.name.as_str()).collect::<Vec<_>>().join(", ");
            format!("`by {names}`")
        }
    };
    let at = match (term.by.first(), term.by.last()) {
        (Some(first), Some(last)) => first.at().start..last.at().end,
        _ => text.len()..text.len(),
    };
    if names(first) == names(found) {
        let expected = "the same values of `by` in every term";
        let remedy = "give the conditions on attributes of `by` in every term";
        return Mistake::new(at, expected, "other values in the first term", remedy);
    }
    let remedy = "write the same `by` after every term: `mean(x) where a by g - mean(x) where b \
                  by g`";
    let expected = format!("{} in every term, as in the first", names(first));
    Mistake::new(at, expected, names(found), remedy)
}
