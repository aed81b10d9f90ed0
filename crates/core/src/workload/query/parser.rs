//! The parser of queries.

use std::ops::Range;

use super::lexer::{Token, tokens};
use super::mistake::{Mistake, unknown};
use super::syntax::{Condition, Measure, Name, Operator, Query, RESERVED, Term, Test, Word};
use crate::error::Result;

/// The names of the numbers about records.
const MEASURES: [&str; 7] = ["total", "count", "sum", "mean", "median", "quantile", "share"];

impl Query {
    /// Parses a query.
    ///
    /// # Errors
    /// Text outside the grammar; the message shows the position.
    pub fn parse(text: &str) -> Result<Self> {
        let parse = || Parser { tokens: tokens(text)?, index: 0 }.query();
        parse().map_err(|mistake: Mistake| mistake.into_error(text))
    }
}

struct Parser {
    tokens: Vec<(Token, Range<usize>)>,
    index: usize,
}

type Parsed<T> = std::result::Result<T, Mistake>;

impl Parser {
    /// Returns the next token with its bytes.
    fn next(&self) -> &(Token, Range<usize>) {
        &self.tokens[self.index.min(self.tokens.len() - 1)]
    }

    fn is_symbol(&self, symbol: &str) -> bool {
        matches!(&self.next().0, Token::Symbol(found) if *found == symbol)
    }

    fn is_keyword(&self, keyword: &str) -> bool {
        matches!(&self.next().0, Token::Plain(found) if found == keyword)
    }

    /// Skips a symbol, if it is next.
    fn takes_symbol(&mut self, symbol: &str) -> bool {
        let is_next = self.is_symbol(symbol);
        self.index += usize::from(is_next);
        is_next
    }

    /// Skips a keyword, if it is next.
    fn takes_keyword(&mut self, keyword: &str) -> bool {
        let is_next = self.is_keyword(keyword);
        self.index += usize::from(is_next);
        is_next
    }

    fn mistake<T>(&self, expected: impl Into<String>, remedy: &str) -> Parsed<T> {
        let (token, at) = self.next();
        Err(Mistake::new(at.clone(), expected, token.shown(), remedy))
    }

    fn symbol(&mut self, symbol: &'static str, remedy: &str) -> Parsed<()> {
        match self.takes_symbol(symbol) {
            true => Ok(()),
            false => self.mistake(format!("`{symbol}`"), remedy),
        }
    }

    fn query(&mut self) -> Parsed<Query> {
        let mut terms = vec![self.term(false)?];
        loop {
            if self.takes_symbol("-") {
                terms.push(self.term(true)?);
            } else if self.takes_symbol("+") {
                terms.push(self.term(false)?);
            } else if self.next().0 == Token::End {
                return Ok(Query { terms });
            } else {
                return self.after_term(&terms);
            }
        }
    }

    /// Refuses what is no continuation of the last term.
    fn after_term(&self, terms: &[Term]) -> Parsed<Query> {
        let last = terms.last();
        let is_total = last.is_some_and(|term| term.measure == Measure::Total);
        let has_by = last.is_some_and(|term| !term.by.is_empty());
        let has_where = last.is_some_and(|term| !term.conditions.is_empty());
        let expected = match (is_total, has_by, has_where) {
            (true, _, _) => "`+`, `-` or the end of the query",
            (_, true, true) => "`,`, `+`, `-` or the end of the query",
            (_, true, false) => "`,`, `where`, `+`, `-` or the end of the query",
            (_, _, true) => "`and`, `by`, `+`, `-` or the end of the query",
            _ => "`where`, `by`, `+`, `-` or the end of the query",
        };
        let is_or = matches!(&self.next().0, Token::Plain(word) if word == "or");
        let remedy = match is_or {
            _ if is_total => "`total` counts all records; use `count` with `where` and `by`",
            true => "use `attribute in (a, b)`, or add the counts of two queries with +",
            _ if self.is_keyword("where") => {
                "write `where` only once per term, with `and` between conditions"
            }
            _ => "quote names and values with spaces or other characters: \"…\"",
        };
        self.mistake(expected, remedy)
    }

    fn term(&mut self, is_subtracted: bool) -> Parsed<Term> {
        let measure = self.measure()?;
        let (mut conditions, mut by) = (Vec::new(), Vec::new());
        if measure != Measure::Total {
            // Either may come first.
            while (conditions.is_empty() && self.is_keyword("where"))
                || (by.is_empty() && self.is_keyword("by"))
            {
                if self.takes_keyword("where") {
                    conditions = self.conditions()?;
                    continue;
                }
                self.index += 1;
                by.push(self.name()?);
                while self.takes_symbol(",") {
                    by.push(self.name()?);
                }
            }
        }
        Ok(Term { is_subtracted, measure, conditions, by })
    }

    fn measure(&mut self) -> Parsed<Measure> {
        let (token, at) = self.next().clone();
        let Token::Plain(word) = &token else {
            let remedy = "start with what to compute, such as `count where age >= 65`";
            return self.mistake(format!("one of {}", MEASURES.join(", ")), remedy);
        };
        if !MEASURES.contains(&word.as_str()) {
            let mut mistake = unknown(at, "one of", word, &MEASURES);
            mistake.expected = format!("one of {}", MEASURES.join(", "));
            if word.contains('-') {
                mistake.remedy = "put spaces around - between two terms".into();
            }
            return Err(mistake);
        }
        self.index += 1;
        match word.as_str() {
            "total" => Ok(Measure::Total),
            "count" => Ok(Measure::Count),
            "share" => match self.takes_keyword("of") {
                true => Ok(Measure::Share(self.conditions()?)),
                false => self.mistake("`of`", "write e.g. `share of employed = yes by region`"),
            },
            measure => {
                let example = match measure {
                    "quantile" => "write e.g. `quantile(income, 0.9)`".to_owned(),
                    measure => format!("write e.g. `{measure}(income)`"),
                };
                self.symbol("(", &example)?;
                let name = self.name()?;
                let measure = match measure {
                    "sum" => Measure::Sum(name),
                    "mean" => Measure::Mean(name),
                    "median" => Measure::Median(name),
                    _ => {
                        self.symbol(",", &example)?;
                        Measure::Quantile(name, self.word("a number from 0 to 1", &example)?)
                    }
                };
                self.symbol(")", &example)?;
                Ok(measure)
            }
        }
    }

    fn conditions(&mut self) -> Parsed<Vec<Condition>> {
        let mut conditions = vec![self.condition()?];
        while self.takes_keyword("and") {
            conditions.push(self.condition()?);
        }
        Ok(conditions)
    }

    fn condition(&mut self) -> Parsed<Condition> {
        let name = self.name()?;
        if self.takes_keyword("in") {
            let remedy = "write e.g. `sex in (F, M)`";
            self.symbol("(", remedy)?;
            let mut values = vec![self.value()?];
            while self.takes_symbol(",") {
                values.push(self.value()?);
            }
            if !self.takes_symbol(")") {
                return self.mistake("`,` or `)`", remedy);
            }
            return Ok(Condition { name, test: Test::In(values) });
        }
        if self.takes_keyword("between") {
            let low = self.value()?;
            if !self.takes_keyword("and") {
                return self.mistake("`and`", "write e.g. `age between 20 and 64`");
            }
            return Ok(Condition { name, test: Test::Between(low, self.value()?) });
        }
        for operator in Operator::ALL {
            if self.takes_symbol(operator.symbol()) {
                return Ok(Condition { name, test: Test::Compare(operator, self.value()?) });
            }
        }
        Ok(Condition { name, test: Test::IsTrue })
    }

    fn name(&mut self) -> Parsed<Name> {
        let remedy = "name an attribute of the schema, or a level of one";
        let first = self.word("the name of an attribute", remedy)?;
        match self.takes_keyword("of") {
            true => {
                let word = self.word("the name of an attribute", remedy)?;
                Ok(Name { level: Some(first), word })
            }
            false => Ok(Name { level: None, word: first }),
        }
    }

    fn value(&mut self) -> Parsed<Word> {
        self.word("a value", "write a value of the attribute, such as 65, yes or \"New York\"")
    }

    /// Returns a word that is not reserved.
    fn word(&mut self, expected: &str, remedy: &str) -> Parsed<Word> {
        let (token, at) = self.next();
        if let Token::Plain(text) = token
            && RESERVED.contains(&text.as_str())
        {
            let remedy = format!("{remedy}; quote it if it is one: \"{text}\"");
            return self.mistake(expected, &remedy);
        }
        match token.word(at) {
            Some(word) => {
                self.index += 1;
                Ok(word)
            }
            None => self.mistake(expected, remedy),
        }
    }
}
