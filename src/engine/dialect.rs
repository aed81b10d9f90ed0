//! The spellings of every dialect, with safe names and texts.

use std::fmt::Write as _;
use std::str::FromStr;

use crate::error::{Error, Result};

/// A dialect of SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// DuckDB.
    DuckDb,
    /// Spark SQL.
    Spark,
    /// SQLite, whose values have types of their own.
    Sqlite,
    /// PostgreSQL.
    Postgres,
}

/// Which side of a text is trimmed.
#[derive(Debug, Clone, Copy)]
pub(super) enum Side {
    Both,
    Leading,
    Trailing,
}

/// What differs between the dialects.
struct Spelling {
    name: &'static str,
    /// The quotation mark of names.
    quote: char,
    /// The text of UTF-8 in hexadecimal digits, between two parts.
    hex: [&'static str; 2],
    text: &'static str,
    double: &'static str,
    single: &'static str,
    position: &'static str,
    /// The function that trims both sides of a text.
    trim: &'static str,
    /// The function that rounds a floating-point number to an integer.
    rounded: &'static str,
    /// The largest magnitudes of integers: bits without the sign.
    integer_bits: u32,
    /// What ends a query whose expressions the engine would otherwise copy into an outer query, so
    /// that it computes them many times.
    fence: &'static str,
}

const SPELLINGS: [(Dialect, Spelling); 4] = [
    (
        Dialect::DuckDb,
        Spelling {
            name: "duckdb",
            quote: '"',
            hex: ["decode(from_hex('", "'))"],
            text: "VARCHAR",
            double: "DOUBLE",
            single: "FLOAT",
            position: "instr",
            trim: "trim",
            rounded: "trunc",
            integer_bits: 127,
            fence: "",
        },
    ),
    (
        Dialect::Spark,
        Spelling {
            name: "spark",
            quote: '`',
            hex: ["decode(unhex('", "'), 'UTF-8')"],
            text: "STRING",
            double: "DOUBLE",
            single: "FLOAT",
            position: "instr",
            trim: "TRIM(BOTH",
            rounded: "rint",
            integer_bits: 63,
            fence: "",
        },
    ),
    (
        Dialect::Sqlite,
        Spelling {
            name: "sqlite",
            quote: '"',
            hex: ["CAST(x'", "' AS TEXT)"],
            text: "TEXT",
            double: "REAL",
            single: "REAL",
            position: "instr",
            trim: "trim",
            rounded: "round",
            integer_bits: 63,
            fence: " LIMIT -1",
        },
    ),
    (
        Dialect::Postgres,
        Spelling {
            name: "postgres",
            quote: '"',
            hex: ["convert_from(decode('", "', 'hex'), 'UTF8')"],
            text: "TEXT",
            double: "DOUBLE PRECISION",
            single: "REAL",
            position: "strpos",
            trim: "btrim",
            rounded: "trunc",
            integer_bits: 63,
            fence: " OFFSET 0",
        },
    ),
];

impl Dialect {
    fn spelling(self) -> &'static Spelling {
        let known = SPELLINGS.iter().find(|(dialect, _)| *dialect == self);
        known.map_or(&SPELLINGS[0].1, |(_, spelling)| spelling)
    }

    /// Returns the names of all dialects.
    pub fn names() -> [&'static str; 4] {
        SPELLINGS.map(|(_, spelling)| spelling.name)
    }

    /// Returns a quoted name.
    ///
    /// # Errors
    /// A name with a NUL character.
    pub fn identifier(self, name: &str) -> Result<String> {
        if name.contains('\0') {
            let remedy = "rename the column";
            return Err(Error::bad_input("name in SQL", "no NUL character", "one", remedy));
        }
        let quote = self.spelling().quote;
        let doubled = name.replace(quote, &format!("{quote}{quote}"));
        Ok(format!("{quote}{doubled}{quote}"))
    }

    /// Returns the quoted name of a table: parts between dots. A part in double quotation marks may
    /// have dots.
    ///
    /// # Errors
    /// As [`Dialect::identifier`], or an empty part.
    pub fn table(self, name: &str) -> Result<String> {
        let (mut parts, mut is_quoted) = (vec![String::new()], false);
        for character in name.chars() {
            match (character, parts.last_mut()) {
                ('"', _) => is_quoted = !is_quoted,
                ('.', _) if !is_quoted => parts.push(String::new()),
                (character, Some(part)) => part.push(character),
                (_, None) => {}
            }
        }
        if is_quoted || parts.iter().any(String::is_empty) {
            let expected = "names separated by dots, such as sales.orders or \"orders.parquet\"";
            return Err(Error::bad_input("table", expected, format!("`{name}`"), "correct it"));
        }
        let parts = parts.iter().map(|part| self.identifier(part)).collect::<Result<Vec<_>>>()?;
        Ok(parts.join("."))
    }

    /// Returns a text. Other characters than letters, digits and harmless punctuation are written
    /// as hexadecimal bytes, whatever the settings of the engine.
    pub(super) fn literal(self, text: &str) -> String {
        let is_plain = |c: char| c.is_alphanumeric() || " _-.,/()+<>=".contains(c);
        if text.chars().all(is_plain) {
            return format!("'{text}'");
        }
        let [start, end] = self.spelling().hex;
        let mut hex = start.to_owned();
        for byte in text.bytes() {
            // Writing to a string does not fail.
            let _ = write!(hex, "{byte:02x}");
        }
        hex + end
    }

    /// Trims characters of a set from a text.
    pub(super) fn trim(self, side: Side, characters: &str, text: &str) -> String {
        let characters = self.literal(characters);
        if self == Dialect::Spark {
            let side = ["BOTH", "LEADING", "TRAILING"][side as usize];
            return format!("TRIM({side} {characters} FROM {text})");
        }
        let function = [self.spelling().trim, "ltrim", "rtrim"][side as usize];
        format!("{function}({text}, {characters})")
    }

    /// Returns the position of a character in a text, from 1; 0 if there is none.
    pub(super) fn position(self, text: &str, character: &str) -> String {
        format!("{}({text}, '{character}')", self.spelling().position)
    }

    pub(super) fn as_text(self, value: &str) -> String {
        format!("CAST({value} AS {})", self.spelling().text)
    }

    /// Returns a floating-point number from its text.
    pub(super) fn float(self, number: &str, is_single: bool) -> String {
        let spelling = self.spelling();
        match self {
            Dialect::Sqlite => number.to_owned(),
            _ if is_single => format!("CAST('{number}' AS {})", spelling.single),
            _ => format!("CAST('{number}' AS {})", spelling.double),
        }
    }

    /// Rounds a floating-point number to an integer.
    pub(super) fn rounded(self, value: &str) -> String {
        format!("{}({value})", self.spelling().rounded)
    }

    pub(super) fn fence(self) -> &'static str {
        self.spelling().fence
    }

    pub(super) fn integer_bits(self) -> u32 {
        self.spelling().integer_bits
    }
}

impl FromStr for Dialect {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let known = SPELLINGS.iter().find(|(_, spelling)| spelling.name == name);
        known.map(|(dialect, _)| *dialect).ok_or_else(|| {
            let found = format!("`{name}`");
            Error::bad_input("dialect", Self::names().join(", "), found, "use one of these")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_texts_stay_inside_their_quotation_marks() {
        let hostile = "a\"; DROP TABLE t; --\n`'\\";
        for dialect in SPELLINGS.map(|(dialect, _)| dialect) {
            let name = dialect.identifier(hostile).unwrap();
            let quote = dialect.spelling().quote;
            let inside = &name[1..name.len() - 1];
            assert!(!inside.replace(&format!("{quote}{quote}"), "").contains(quote), "{name}");
            let text = dialect.literal(hostile);
            assert!(!text.contains(['\\', ';', '\n', '"']) && !text.contains("DROP"), "{text}");
            assert!(dialect.identifier("a\0b").is_err());
            assert_eq!(Dialect::from_str(dialect.spelling().name).unwrap(), dialect);
        }
        assert_eq!(Dialect::DuckDb.literal("Île 3"), "'Île 3'");
        assert_eq!(Dialect::Sqlite.literal("it's"), "CAST(x'69742773' AS TEXT)");
        assert_eq!(Dialect::Spark.table("db.a`b").unwrap(), "`db`.`a``b`");
        assert_eq!(Dialect::DuckDb.table("\"x.parquet\"").unwrap(), "\"x.parquet\"");
        for name in ["", "a.", ".a", "a..b", "\"a"] {
            assert!(Dialect::DuckDb.table(name).is_err(), "{name}");
        }
    }
}
