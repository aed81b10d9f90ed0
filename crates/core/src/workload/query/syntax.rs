//! The syntax tree of a query, and its canonical text.

use std::fmt;
use std::ops::Range;

/// Words of the grammar that are names or values only if they are quoted.
pub(super) const RESERVED: [&str; 8] = ["where", "by", "and", "in", "between", "of", "or", "not"];

/// A query: terms that are added or subtracted.
///
/// Its text is canonical: it parses to an equal query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// The terms, at least one. The first is not subtracted.
    pub terms: Vec<Term>,
}

/// A number about the records that meet all conditions, for every combination of values of some
/// attributes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    /// Whether the term is subtracted.
    pub is_subtracted: bool,
    /// The number.
    pub measure: Measure,
    /// The conditions.
    pub conditions: Vec<Condition>,
    /// The attributes and levels of the combinations.
    pub by: Vec<Name>,
}

/// A number about records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Measure {
    /// `total`: the number of all records.
    Total,
    /// `count`: the number of records.
    Count,
    /// `sum(ATTRIBUTE)`.
    Sum(Name),
    /// `mean(ATTRIBUTE)`.
    Mean(Name),
    /// `median(ATTRIBUTE)`.
    Median(Name),
    /// `quantile(ATTRIBUTE, SHARE)`.
    Quantile(Name, Word),
    /// `share of CONDITION and …`: the number of records that meet these conditions too, divided by
    /// the number of records.
    Share(Vec<Condition>),
}

/// A condition on the value of an attribute or of a level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// The attribute or level.
    pub name: Name,
    /// What its value must be.
    pub test: Test,
}

/// What a value must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Test {
    /// The boolean `true`.
    IsTrue,
    /// The result of a comparison.
    Compare(Operator, Word),
    /// One of some values.
    In(Vec<Word>),
    /// At least the first value and at most the second.
    Between(Word, Word),
}

/// A comparison with a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// `=`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `>`
    Above,
    /// `>=`
    AtLeast,
}

impl Operator {
    /// All comparisons.
    pub const ALL: [Operator; 6] = [
        Operator::Equal,
        Operator::NotEqual,
        Operator::Below,
        Operator::AtMost,
        Operator::Above,
        Operator::AtLeast,
    ];

    /// Returns the symbol.
    pub fn symbol(self) -> &'static str {
        match self {
            Operator::Equal => "=",
            Operator::NotEqual => "!=",
            Operator::Below => "<",
            Operator::AtMost => "<=",
            Operator::Above => ">",
            Operator::AtLeast => ">=",
        }
    }
}

/// The name of an attribute, of a level, or of the level of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// The level of `LEVEL of ATTRIBUTE`.
    pub level: Option<Word>,
    /// The attribute; without `level`, also the name of a level.
    pub word: Word,
}

impl Name {
    /// Returns the bytes of the name in the text of the query.
    pub(super) fn at(&self) -> Range<usize> {
        self.level.as_ref().map_or(self.word.at.start, |level| level.at.start)..self.word.at.end
    }
}

/// A name or a value, with its bytes in the text of the query. Words with equal texts are equal.
#[derive(Debug, Clone)]
pub struct Word {
    /// The text, without quotes.
    pub text: String,
    /// The bytes, with quotes.
    pub(super) at: Range<usize>,
}

impl PartialEq for Word {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Word {}

/// Returns whether a character can be in a word without quotes.
pub(super) fn is_word_character(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | ':' | '/')
}

/// Returns whether a word needs no quotes: characters of words, and `-` before one of them.
fn is_plain(text: &str) -> bool {
    let characters: Vec<char> = text.chars().collect();
    let is_inside = |k: usize| match characters[k] {
        '-' => characters.get(k + 1).is_some_and(|next| match k {
            0 => next.is_ascii_digit(),
            _ => is_word_character(*next),
        }),
        c => is_word_character(c),
    };
    !text.is_empty() && (0..characters.len()).all(is_inside) && !RESERVED.contains(&text)
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match is_plain(&self.text) {
            true => f.write_str(&self.text),
            false => write!(f, "\"{}\"", self.text.replace('"', "\"\"")),
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.level {
            Some(level) => write!(f, "{level} of {}", self.word),
            None => self.word.fmt(f),
        }
    }
}

/// Writes items with a separator.
fn separated<T: fmt::Display>(f: &mut fmt::Formatter<'_>, items: &[T], by: &str) -> fmt::Result {
    for (k, item) in items.iter().enumerate() {
        if k > 0 {
            f.write_str(by)?;
        }
        item.fmt(f)?;
    }
    Ok(())
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)?;
        match &self.test {
            Test::IsTrue => Ok(()),
            Test::Compare(operator, value) => write!(f, " {} {value}", operator.symbol()),
            Test::In(values) => {
                f.write_str(" in (")?;
                separated(f, values, ", ")?;
                f.write_str(")")
            }
            Test::Between(low, high) => write!(f, " between {low} and {high}"),
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Measure::Total => f.write_str("total"),
            Measure::Count => f.write_str("count"),
            Measure::Sum(name) => write!(f, "sum({name})"),
            Measure::Mean(name) => write!(f, "mean({name})"),
            Measure::Median(name) => write!(f, "median({name})"),
            Measure::Quantile(name, share) => write!(f, "quantile({name}, {share})"),
            Measure::Share(conditions) => {
                f.write_str("share of ")?;
                separated(f, conditions, " and ")
            }
        }
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.measure.fmt(f)?;
        if !self.conditions.is_empty() {
            f.write_str(" where ")?;
            separated(f, &self.conditions, " and ")?;
        }
        if !self.by.is_empty() {
            f.write_str(" by ")?;
            separated(f, &self.by, ", ")?;
        }
        Ok(())
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (k, term) in self.terms.iter().enumerate() {
            match (k, term.is_subtracted) {
                (0, _) => {}
                (_, true) => f.write_str(" - ")?,
                (_, false) => f.write_str(" + ")?,
            }
            term.fmt(f)?;
        }
        Ok(())
    }
}
