//! The cells of an attribute that meet the conditions of a query.

use super::mistake::{Mistake, unknown};
use super::spans::{Number, Side, Span, Spans};
use super::syntax::{Condition, Name, Operator, Test, Word};
use crate::schema::{Coded, Coding, ListedValue, Schema, Value};

/// The attribute that a name means, and its level, if it is the name of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Target {
    pub position: usize,
    pub level: Option<usize>,
}

impl Target {
    /// Returns the attribute or the level with a name.
    pub(super) fn of(schema: &Schema, name: &Name) -> Result<Self, Mistake> {
        let attributes = schema.attributes();
        let levels_of = |position: usize| {
            let hierarchy = attributes[position].hierarchy.as_ref();
            hierarchy.map_or(&[][..], |hierarchy| hierarchy.levels())
        };
        let found = attributes.iter().position(|attribute| attribute.name == name.word.text);
        if let Some(level) = &name.level {
            let Some(position) = found else {
                let known: Vec<&str> = attributes.iter().map(|a| a.name.as_str()).collect();
                let at = name.word.at.clone();
                return Err(unknown(at, "an attribute", &name.word.text, &known));
            };
            let levels = levels_of(position);
            return match levels.iter().position(|known| known.name() == level.text) {
                Some(index) => Ok(Target { position, level: Some(index) }),
                None if levels.is_empty() => Err(Mistake::new(
                    name.at(),
                    "an attribute with levels before `of`",
                    format!("`{}` without levels", name.word.text),
                    "give the attribute `levels` in the schema, or name the attribute alone",
                )),
                None => {
                    let known: Vec<&str> = levels.iter().map(|level| level.name()).collect();
                    Err(unknown(level.at.clone(), "a level", &level.text, &known))
                }
            };
        }
        if let Some(position) = found {
            return Ok(Target { position, level: None });
        }
        let all = (0..attributes.len()).flat_map(|position| {
            (0..levels_of(position).len()).map(move |level| (position, level))
        });
        let named = all.clone().filter(|(p, level)| levels_of(*p)[*level].name() == name.word.text);
        let named: Vec<(usize, usize)> = named.collect();
        match named[..] {
            [(position, level)] => Ok(Target { position, level: Some(level) }),
            [] => {
                let known: Vec<&str> = (attributes.iter().map(|a| a.name.as_str()))
                    .chain(all.map(|(p, level)| levels_of(p)[level].name()))
                    .collect();
                Err(unknown(name.at(), "an attribute or a level", &name.word.text, &known))
            }
            _ => {
                let of = |(p, _): &(usize, usize)| {
                    format!("`{} of {}`", name.word.text, attributes[*p].name)
                };
                let all = named.iter().map(of).collect::<Vec<_>>().join(" or ");
                let found = format!("`{}`, a level of several", name.word.text);
                Err(Mistake::new(name.at(), all, found, "say of which attribute the level is"))
            }
        }
    }

    /// Returns the names of the level's nodes and the node of every cell.
    pub(super) fn nodes<'a>(&self, schema: &'a Schema) -> Option<(&'a [String], &'a [u32])> {
        let hierarchy = schema.attributes().get(self.position)?.hierarchy.as_ref()?;
        let level = hierarchy.levels().get(self.level?)?;
        Some((level.labels(), level.node_of()))
    }
}

/// Returns which cells of the attribute of a condition meet it.
///
/// The cell of missing values meets a condition only if the condition names its label.
pub(super) fn chosen(
    schema: &Schema,
    condition: &Condition,
) -> Result<(usize, Vec<bool>), Mistake> {
    let target = Target::of(schema, &condition.name)?;
    let size = schema.attributes()[target.position].size;
    let tested = Tested { schema, target, condition, size };
    let chosen = match &condition.test {
        Test::IsTrue => tested.true_cells()?,
        Test::Compare(Operator::Equal, value) => tested.equal(value)?,
        Test::Compare(Operator::NotEqual, value) => {
            let equal = tested.equal(value)?;
            let missing = schema.missing(target.position).map(|cell| cell as usize);
            (0..size).map(|cell| !equal[cell] && Some(cell) != missing).collect()
        }
        Test::Compare(operator, value) => tested.ordered(*operator, value)?,
        Test::In(values) => {
            let mut any = vec![false; size];
            for value in values {
                tested.equal(value)?.into_iter().zip(&mut any).for_each(|(is, any)| *any |= is);
            }
            any
        }
        Test::Between(low, high) => {
            let above = tested.ordered(Operator::AtLeast, low)?;
            let below = tested.ordered(Operator::AtMost, high)?;
            above.into_iter().zip(below).map(|(a, b)| a && b).collect()
        }
    };
    if chosen.contains(&true) {
        return Ok((target.position, chosen));
    }
    Err(Mistake::new(
        condition.name.at(),
        "a condition that some values of the schema meet",
        format!("`{condition}`, which none meets"),
        "correct the condition; without such values the answer is 0",
    ))
}

/// A condition on the cells of an attribute.
struct Tested<'a> {
    schema: &'a Schema,
    target: Target,
    condition: &'a Condition,
    size: usize,
}

impl Tested<'_> {
    fn name(&self) -> &str {
        &self.condition.name.word.text
    }

    /// Returns the cell of the boolean `true`.
    fn true_cells(&self) -> Result<Vec<bool>, Mistake> {
        if self.target.level.is_none()
            && let Coded::Cell(cell) =
                self.schema.coder(self.target.position).code(Value::Boolean(true))
        {
            return Ok((0..self.size).map(|k| k == cell as usize).collect());
        }
        Err(Mistake::new(
            self.condition.name.at(),
            "an attribute with the value true, or a comparison",
            format!("`{}`", self.condition.name),
            format!("write e.g. `{} = VALUE`", self.condition.name),
        ))
    }

    /// Returns the cells of one value.
    fn equal(&self, value: &Word) -> Result<Vec<bool>, Mistake> {
        if let Some((labels, node_of)) = self.target.nodes(self.schema) {
            let Some(node) = labels.iter().position(|label| *label == value.text) else {
                let known: Vec<&str> = labels.iter().map(String::as_str).collect();
                let known = if known.len() > MAX_LISTED { &known[..MAX_LISTED] } else { &known };
                let at = value.at.clone();
                return Err(unknown(at, "a node of the level", &value.text, known));
            };
            return Ok(node_of.iter().map(|of| *of as usize == node).collect());
        }
        let position = self.target.position;
        let coder = self.schema.coder(position);
        let cell = match coder.code(Value::Text(&value.text)) {
            Coded::Cell(cell) => cell as usize,
            _ => {
                return Err(Mistake::new(
                    value.at.clone(),
                    coder.allowed(),
                    format!("`{}`", value.text),
                    format!("write a value of `{}` as the schema does", self.name()),
                ));
            }
        };
        let Some(Coding::Bins(bins)) = self.schema.coding(position) else {
            return Ok((0..self.size).map(|k| k == cell).collect());
        };
        let spans = Spans::of(self.schema, position);
        let span = spans.as_ref().and_then(|spans| spans.cells[cell].as_ref());
        match span {
            Some(span) if span.single().is_none() => Err(Mistake::new(
                value.at.clone(),
                "a value that is alone in its bin",
                format!("`{}` in the bin `{}`", value.text, bins.in_words(cell, cell)),
                "ask for whole bins with <, <=, >, >= or between; the release has no finer counts",
            )),
            _ => Ok((0..self.size).map(|k| k == cell).collect()),
        }
    }

    /// Returns the cells on one side of a value.
    fn ordered(&self, operator: Operator, value: &Word) -> Result<Vec<bool>, Mistake> {
        let at = value.at.clone();
        let spans = match self.target.level {
            None => Spans::of(self.schema, self.target.position),
            Some(_) => None,
        };
        let Some(spans) = spans else {
            return Err(Mistake::new(
                self.condition.name.at(),
                "an attribute of numbers or times",
                format!("`{}`, whose values have no order", self.condition.name),
                "use =, != or in",
            ));
        };
        let Some(limit) = spans.number(&value.text) else {
            let expected = if spans.are_times { "a date or a time" } else { "a number" };
            let remedy = "compare with a number, or with a date such as 2024-01-31";
            return Err(Mistake::new(at, expected, format!("`{}`", value.text), remedy));
        };
        let (side, is_inverse) = match operator {
            Operator::Below => (Side::Below, false),
            Operator::AtLeast => (Side::Below, true),
            Operator::Above => (Side::AtMost, true),
            _ => (Side::AtMost, false),
        };
        let mut chosen = vec![false; self.size];
        for (cell, span) in spans.cells.iter().enumerate() {
            let Some(span) = span else { continue };
            match span.is_on(side, &limit) {
                Some(is_on) => chosen[cell] = is_on != is_inverse,
                None => return Err(self.cut(operator, value, &spans, cell, span)),
            }
        }
        Ok(chosen)
    }

    /// Refuses a limit inside a bin, with the nearest comparisons that cut none.
    fn cut(
        &self,
        operator: Operator,
        value: &Word,
        spans: &Spans,
        cell: usize,
        span: &Span,
    ) -> Mistake {
        let bin = match self.schema.coding(self.target.position) {
            Some(Coding::Bins(bins)) => bins.in_words(cell, cell),
            _ => String::new(),
        };
        // A limit that is in the numbers on its upper side, or on its lower side.
        let (upper, lower) = match operator {
            Operator::Below | Operator::AtMost => (Operator::Below, Operator::AtMost),
            _ => (Operator::AtLeast, Operator::Above),
        };
        let is_upper = operator == upper;
        let one = Number::from(num_bigint::BigInt::from(1));
        let below = span.low.as_ref().map(|end| match (spans.are_integers, end.is_included) {
            (true, _) if !is_upper => (lower, &end.at - &one),
            (true, _) | (_, true) => (upper, end.at.clone()),
            (_, false) => (lower, end.at.clone()),
        });
        let above = span.high.as_ref().map(|end| match (spans.are_integers, end.is_included) {
            (true, _) if is_upper => (upper, &end.at + &one),
            (true, _) | (_, true) => (lower, end.at.clone()),
            (_, false) => (upper, end.at.clone()),
        });
        let shown = |(operator, limit): (Operator, Number)| {
            format!("`{} {} {}`", self.condition.name, operator.symbol(), spans.shown(&limit))
        };
        let nearest: Vec<String> = below.into_iter().chain(above).map(shown).collect();
        Mistake::new(
            value.at.clone(),
            format!("an edge of the bins, as in {}", nearest.join(" or ")),
            format!("`{}` inside the bin `{bin}`", value.text),
            "use one of these; limits are never rounded",
        )
    }
}

/// Maximum number of nodes that a message lists.
const MAX_LISTED: usize = 12;

/// Returns the name of a cell of an attribute: its value, label or bin.
pub(super) fn cell_name(schema: &Schema, position: usize, cell: usize) -> String {
    if let Some(label) = schema.label(position, cell) {
        return label.to_string();
    }
    match schema.coding(position) {
        Some(Coding::Values(values)) => {
            values.get(cell).map(ListedValue::to_string).unwrap_or_default()
        }
        Some(Coding::Bins(bins)) => bins.label(cell),
        _ => cell.to_string(),
    }
}
