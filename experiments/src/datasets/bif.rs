//! Networks in the Bayesian interchange format (BIF), as in the Bayesian network repository.
//!
//! ```text
//! network unknown { }
//! variable A { type discrete [ 2 ] { yes, no }; }
//! variable B { type discrete [ 2 ] { yes, no }; }
//! probability ( A ) { table 0.01, 0.99; }
//! probability ( B | A ) { (yes) 0.05, 0.95; (no) 0.01, 0.99; }
//! ```
//!
//! Every combination of the parents' values has a line; `default` and tables of several
//! combinations are refused. Properties are skipped. Attributes keep the order of the file.

use std::path::Path;

use matmech::data::Records;
use matmech::domain::{Attribute, AttributeKind};
use matmech::schema::Schema;
use matmech::{Error, Place, Result};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use super::network::{Network, Node};
use crate::files::first_bytes;

/// Reads the network of a file.
///
/// # Errors
/// Returns an error if the file cannot be read, or as [`parse`].
pub fn read_network(path: &Path) -> Result<Network> {
    let remedy = "give the path of a network in the Bayesian interchange format";
    let text = std::fs::read_to_string(path)
        .map_err(|error| Error::io(path, "reading", error, remedy.to_owned()))?;
    parse(&text, &path.display().to_string())
}

/// Draws records from the network of a file.
///
/// One ChaCha20 stream makes all choices, seeded (`seed_from_u64`) with the first 64 bits of the
/// SHA-256 of the table's name.
///
/// # Errors
/// As [`read_network`]; also if names or sizes of attributes are refused in a schema.
pub fn sample_file(path: &Path, name: &str, count: usize) -> Result<(Schema, Records)> {
    let network = read_network(path)?;
    let seed = u64::from_be_bytes(first_bytes(name.as_bytes()));
    let columns = network.sample(count, &mut ChaCha20Rng::seed_from_u64(seed));
    let attributes = network.nodes().iter();
    let attributes = attributes
        .map(|node| Attribute::new(node.name.as_str(), node.size, AttributeKind::Categorical));
    let schema = Schema::new(attributes.collect())?;
    let records = Records::new(&schema, columns)?;
    Ok((schema, records))
}

/// Parses a network.
///
/// # Errors
/// Returns an error with the line if the text is not of this format, names an attribute or value
/// that is not declared, has something twice, or lacks a distribution. Also as [`Network::new`].
pub fn parse(text: &str, origin: &str) -> Result<Network> {
    let mut parser = Parser { tokens: tokens(text), at: 0, origin, variables: Vec::new() };
    while let Some(keyword) = parser.next_or_end() {
        match keyword.text {
            "network" => parser.skip_block()?,
            "variable" => parser.variable()?,
            "probability" => parser.probability()?,
            _ => {
                parser.at -= 1;
                return parser.refuse("`network`, `variable` or `probability`");
            }
        }
    }
    let node = |variable: Variable| {
        let Some((parents, probabilities)) = variable.table else {
            let found = format!("none for `{}`", variable.name);
            let remedy = "check that the file is complete".into();
            let expected = "a `probability` block for every variable".into();
            return Err(Error::Parse {
                origin: origin.to_owned(),
                place: None,
                expected,
                found,
                remedy,
            });
        };
        let (name, size) = (variable.name.to_owned(), variable.values.len());
        Ok(Node { name, size, parents, probabilities })
    };
    let nodes = parser.variables.into_iter().map(node).collect::<Result<Vec<_>>>()?;
    Network::new(nodes).map_err(|error| error.located(origin))
}

/// A word, or one of the signs of [`SIGNS`].
#[derive(Debug, Clone, Copy)]
struct Token<'t> {
    text: &'t str,
    line: usize,
}

const SIGNS: [char; 9] = ['{', '}', '(', ')', '[', ']', '|', ',', ';'];

fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    for (line, content) in (1..).zip(text.lines()) {
        for mut word in content.split_whitespace() {
            while let Some(at) = word.find(SIGNS) {
                let (before, rest) = word.split_at(at);
                let (sign, after) = rest.split_at(1);
                let parts = [before, sign].into_iter().filter(|part| !part.is_empty());
                tokens.extend(parts.map(|text| Token { text, line }));
                word = after;
            }
            if !word.is_empty() {
                tokens.push(Token { text: word, line });
            }
        }
    }
    tokens
}

/// A declared variable and its table, once it is read.
struct Variable<'t> {
    name: &'t str,
    values: Vec<&'t str>,
    /// The parents, and the probabilities in row-major order.
    table: Option<(Vec<usize>, Vec<f64>)>,
}

struct Parser<'t> {
    tokens: Vec<Token<'t>>,
    at: usize,
    origin: &'t str,
    variables: Vec<Variable<'t>>,
}

impl<'t> Parser<'t> {
    fn next_or_end(&mut self) -> Option<Token<'t>> {
        let token = self.tokens.get(self.at).copied();
        self.at += usize::from(token.is_some());
        token
    }

    /// Refuses the next token.
    fn refuse<T>(&self, expected: &str) -> Result<T> {
        let token = self.tokens.get(self.at);
        let line = token.or(self.tokens.last()).map(|token| token.line);
        Err(Error::Parse {
            origin: self.origin.to_owned(),
            place: line.map(|line| Place { line, column: 0 }),
            expected: expected.to_owned(),
            found: token.map_or("the end of the file".into(), |token| format!("`{}`", token.text)),
            remedy: "correct the line, or restore the file".into(),
        })
    }

    /// Returns whether the next token is this one, which is then passed.
    fn passes(&mut self, text: &str) -> bool {
        let found = self.tokens.get(self.at).is_some_and(|token| token.text == text);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, text: &str) -> Result<()> {
        if self.passes(text) { Ok(()) } else { self.refuse(&format!("`{text}`")) }
    }

    /// Reads a token that `read` accepts.
    fn read<T>(&mut self, expected: &str, read: impl Fn(&Self, &'t str) -> Option<T>) -> Result<T> {
        let value = self.tokens.get(self.at).and_then(|token| read(self, token.text));
        match value {
            Some(value) => {
                self.at += 1;
                Ok(value)
            }
            None => self.refuse(expected),
        }
    }

    /// Reads values with commas between them, up to `end`.
    fn list<T>(
        &mut self,
        expected: &str,
        end: &str,
        read: impl Fn(&Self, &'t str, &[T]) -> Option<T>,
    ) -> Result<Vec<T>> {
        let mut values = Vec::new();
        loop {
            let value = self.read(expected, |parser, text| read(parser, text, &values))?;
            values.push(value);
            if self.passes(end) {
                return Ok(values);
            }
            if !self.passes(",") {
                return self.refuse(&format!("`,` or `{end}`"));
            }
        }
    }

    fn numbers(&mut self, count: usize) -> Result<Vec<f64>> {
        let read = |_: &Self, text: &str, before: &[f64]| {
            text.parse().ok().filter(|number: &f64| number.is_finite() && before.len() < count)
        };
        let numbers = self.list(&format!("{count} probabilities"), ";", read)?;
        if numbers.len() < count {
            self.at -= 1;
            return self.refuse(&format!("{count} probabilities"));
        }
        Ok(numbers)
    }

    /// Skips a name and a block in braces.
    fn skip_block(&mut self) -> Result<()> {
        while !self.passes("{") {
            self.read("`{`", |_, text| {
                (!SIGNS.iter().any(|s| text.starts_with(*s))).then_some(())
            })?;
        }
        while !self.passes("}") {
            self.read("`}`", |_, text| (text != "{").then_some(()))?;
        }
        Ok(())
    }

    fn skip_properties(&mut self) -> Result<()> {
        while self.passes("property") {
            while !self.passes(";") {
                self.read("`;`", |_, text| (text != "}").then_some(()))?;
            }
        }
        Ok(())
    }

    fn variable(&mut self) -> Result<()> {
        let name = self.read("a new name", |parser, text| {
            let is_name = is_name(text) && parser.index(text).is_none();
            is_name.then_some(text)
        })?;
        self.expect("{")?;
        self.skip_properties()?;
        for text in ["type", "discrete", "["] {
            self.expect(text)?;
        }
        let size: usize = self.read("a number of values", |_, text| text.parse().ok())?;
        for text in ["]", "{"] {
            self.expect(text)?;
        }
        let expected = format!("{size} different values");
        let values = self.list(&expected, "}", |_, text, before: &[&str]| {
            (is_name(text) && before.len() < size && !before.contains(&text)).then_some(text)
        })?;
        if values.len() < size {
            self.at -= 1;
            return self.refuse(&expected);
        }
        self.expect(";")?;
        self.skip_properties()?;
        self.expect("}")?;
        self.variables.push(Variable { name, values, table: None });
        Ok(())
    }

    fn probability(&mut self) -> Result<()> {
        self.expect("(")?;
        let child = self.read("a variable without a table", |parser, text| {
            parser.index(text).filter(|&index| parser.variables[index].table.is_none())
        })?;
        let parents = if self.passes("|") {
            self.list(
                "a variable that is declared above",
                ")",
                |parser, text, before: &[usize]| {
                    parser.index(text).filter(|index| !before.contains(index))
                },
            )?
        } else {
            self.expect(")")?;
            Vec::new()
        };
        self.expect("{")?;
        self.skip_properties()?;
        let size = self.variables[child].values.len();
        let probabilities = if parents.is_empty() {
            self.expect("table")?;
            self.numbers(size)?
        } else {
            self.rows(&parents, size)?
        };
        self.skip_properties()?;
        self.expect("}")?;
        self.variables[child].table = Some((parents, probabilities));
        Ok(())
    }

    /// Reads a distribution for each combination of the parents' values, in any order.
    fn rows(&mut self, parents: &[usize], size: usize) -> Result<Vec<f64>> {
        let mut rows = std::collections::BTreeMap::new();
        let sizes = parents.iter().map(|&parent| self.variables[parent].values.len());
        let Some(count) = sizes.into_iter().try_fold(1usize, usize::checked_mul) else {
            return self.refuse("a smaller table");
        };
        while rows.len() < count {
            self.expect("(")?;
            let start = self.at;
            let row =
                self.list("a value of each parent", ")", |parser, text, before: &[usize]| {
                    let parent = parents.get(before.len())?;
                    parser.variables[*parent].values.iter().position(|value| *value == text)
                })?;
            if row.len() < parents.len() {
                self.at -= 1;
                return self.refuse("a value of each parent");
            }
            if rows.contains_key(&row) {
                self.at = start;
                return self.refuse("a combination of values without a distribution");
            }
            let numbers = self.numbers(size)?;
            rows.insert(row, numbers);
        }
        // The order of the keys is that of row-major indices.
        Ok(rows.into_values().flatten().collect())
    }

    fn index(&self, name: &str) -> Option<usize> {
        self.variables.iter().position(|variable| variable.name == name)
    }
}

fn is_name(text: &str) -> bool {
    !text.starts_with(SIGNS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datasets::tables::{Definition, definition};
    use crate::datasets::{Catalogue, STAND_IN, SYNTHETIC};

    const TEXT: &str = "network unknown {\n}\n\
        variable A {\n  type discrete [ 2 ] { yes, no };\n}\n\
        variable B {\n  type discrete [ 3 ] { low,mid , high };\n  property position = (1, 2);\n}\n\
        variable C {\n  type discrete [ 2 ] { yes, no };\n}\n\
        probability ( C | B, A ) {\n\
          (low, yes) 0.1, 0.9;\n  (low, no) 0.2, 0.8;\n  (high, yes) 0.5, 0.5;\n\
          (mid, yes) 0.3, 0.7;\n  (mid, no) 0.4, 0.6;\n  (high, no) 1.0, 0.0;\n}\n\
        probability ( A ) {\n  table 0.01, 0.99;\n}\n\
        probability ( B ) {\n  table 2e-1, 0.3, 0.5;\n}\n";

    #[test]
    fn tables_are_row_major_in_the_order_of_the_parents() {
        let network = parse(TEXT, "net.bif").unwrap();
        let [a, b, c] = network.nodes() else { panic!("{network:?}") };
        assert_eq!((a.name.as_str(), b.size, &c.parents), ("A", 3, &vec![1, 0]));
        assert_eq!(b.probabilities, [0.2, 0.3, 0.5]);
        assert_eq!(c.probabilities, [0.1, 0.9, 0.2, 0.8, 0.3, 0.7, 0.4, 0.6, 0.5, 0.5, 1.0, 0.0]);
    }

    #[test]
    fn malformed_texts_are_refused_with_their_line() {
        for (from, to, parts) in [
            ("network unknown", "net unknown", ["line 1", "`network`, `variable`", "`net`"]),
            ("{\n}\nvariable A", "{\nvariable A", ["line 2", "`}`", "`{`"]),
            ("variable B", "variable A", ["line 6", "a new name", "`A`"]),
            ("[ 3 ]", "[ x ]", ["line 7", "a number of values", "`x`"]),
            ("[ 3 ]", "[ 2 ]", ["line 7", "2 different values", "`high`"]),
            ("[ 3 ]", "[ 4 ]", ["line 7", "4 different values", "`}`"]),
            ("low,mid", "low,low", ["line 7", "3 different values", "`low`"]),
            ("discrete", "continuous", ["line 4", "`discrete`", "`continuous`"]),
            ("| B, A", "| B, D", ["line 13", "declared above", "`D`"]),
            ("| B, A", "| B, B", ["line 13", "declared above", "`B`"]),
            ("(low, no)", "(low, yes)", ["line 15", "without a distribution", "`low`"]),
            ("(low, no)", "(low)", ["line 15", "a value of each parent", "`)`"]),
            ("(low, no)", "(low, maybe)", ["line 15", "a value of each parent", "`maybe`"]),
            ("  (high, no) 1.0, 0.0;\n", "", ["line 19", "`(`", "`}`"]),
            ("0.2, 0.8", "0.2", ["line 15", "2 probabilities", "`;`"]),
            ("0.2, 0.8", "0.2, 0.3, 0.5", ["line 15", "2 probabilities", "`0.5`"]),
            ("0.2, 0.8", "0.2 0.8", ["line 15", "`,` or `;`", "`0.8`"]),
            ("0.2, 0.8", "nan, 0.8", ["line 15", "2 probabilities", "`nan`"]),
            ("0.2, 0.8", "0.2, 0.9", ["net.bif", "`C`", "distribution 2"]),
            ("0.2, 0.8", "-0.2, 1.2", ["net.bif", "`C`", "at least 0"]),
            ("( A )", "( C )", ["line 21", "a variable without a table", "`C`"]),
            ("( A ) {\n  table 0.01, 0.99;\n}", "( B | C ) {", ["`(`", "line 2", "`probability`"]),
            ("table 2e-1, 0.3, 0.5;\n}\n", "table 2e-1, 0.3", ["line 25", "`;`", "the end"]),
            ("probability ( B ) {\n  table 2e-1, 0.3, 0.5;\n}\n", "", ["net.bif", "every", "`B`"]),
        ] {
            let text = TEXT.replacen(from, to, 1);
            assert_ne!(text, TEXT, "{from}");
            let message = parse(&text, "net.bif").unwrap_err().to_string();
            for part in parts {
                assert!(message.contains(part), "{part} in {message}");
            }
        }
    }

    /// The published files have the counts of a NumPy program that reads them with regular
    /// expressions, and the sizes of the stand-ins.
    #[test]
    fn published_networks_are_complete() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for (name, attributes, parents, probabilities) in
            [("child", 20, 2, 344), ("alarm", 37, 4, 752), ("insurance", 27, 3, 1419)]
        {
            let network = read_network(&root.join(format!("data/tables/networks/{name}.bif")));
            let network = network.unwrap();
            let nodes = network.nodes();
            assert_eq!(nodes.len(), attributes, "{name}");
            assert_eq!(nodes.iter().map(|node| node.parents.len()).max(), Some(parents), "{name}");
            let cells: usize = nodes.iter().map(|node| node.probabilities.len()).sum();
            assert_eq!(cells, probabilities, "{name}");
            let table = format!("network-{name}");
            let data = Catalogue::of_process(&root).identify(&table).unwrap();
            assert_eq!((data.label(), data.real, data.sha256.is_some()), (SYNTHETIC, true, true));
            assert_eq!(data.stand_in_revision, Some(crate::datasets::generated::REVISION));
            let Some(Definition::StandIn(20_000, sizes)) = definition(&table) else { panic!() };
            assert!(nodes.iter().map(|node| node.size).eq(sizes.iter().copied()), "{name}");
        }
        let empty = tempfile::tempdir().unwrap();
        let missing = Catalogue::of_process(empty.path()).identify("network-child").unwrap();
        assert_eq!(missing.label(), STAND_IN);
    }

    /// Every prefix of a file is refused without a panic, except in the last white space.
    #[test]
    fn incomplete_files_are_refused() {
        for end in (0..TEXT.len() - 1).filter(|&end| TEXT[..end].contains("variable A {")) {
            assert!(parse(&TEXT[..end], "net.bif").is_err(), "{}", &TEXT[..end]);
        }
    }
}
