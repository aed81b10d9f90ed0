//! Names with options and an operand, `NAME(key=value,…):OPERAND`: how workloads and strategies are written.

use std::collections::BTreeMap;
use std::str::FromStr;

use crate::error::{Error, Result};

/// `NAME`, `NAME(key=value,…)`, `NAME:OPERAND` or `NAME(key=value,…):OPERAND`, taken apart.
#[derive(Debug, Clone)]
pub struct Call<'a> {
    kind: &'static str,
    remedy: &'static str,
    text: &'a str,
    name: &'a str,
    options: BTreeMap<&'a str, &'a str>,
    operand: Option<&'a str>,
}

impl<'a> Call<'a> {
    /// Takes a text apart. `kind` says in errors what it should be, `remedy` shows how it is written.
    ///
    /// # Errors
    /// A parenthesis that is not closed, or options other than `key=value`, each once.
    pub fn parse(kind: &'static str, text: &'a str, remedy: &'static str) -> Result<Self> {
        let end = text.find(['(', ':']).unwrap_or(text.len());
        let (name, rest) = text.split_at(end);
        let mut call = Call { kind, remedy, text, name, options: BTreeMap::new(), operand: None };
        let rest = match rest.strip_prefix('(') {
            None => rest,
            Some(inside) => {
                let (inside, rest) =
                    inside.split_once(')').ok_or_else(|| call.refuse("a closing parenthesis", inside))?;
                for item in inside.split(',').filter(|item| !item.trim().is_empty()) {
                    let (key, value) = item.split_once('=').ok_or_else(|| call.refuse("options as key=value", item))?;
                    if call.options.insert(key.trim(), value.trim()).is_some() {
                        return Err(call.refuse("each option once", &format!("`{}` twice", key.trim())));
                    }
                }
                rest
            }
        };
        match rest.strip_prefix(':') {
            Some(operand) => call.operand = Some(operand),
            None if rest.is_empty() => {}
            None => return Err(call.refuse("a colon or nothing after the parenthesis", &format!("`{rest}`"))),
        }
        Ok(call)
    }

    /// The whole text.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// The name.
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// What stands after the colon.
    pub fn operand(&self) -> Option<&'a str> {
        self.operand
    }

    /// Whether there is nothing but the name.
    pub fn is_plain(&self) -> bool {
        self.options.is_empty() && self.operand.is_none()
    }

    /// The error that says what was expected and found in this text.
    pub fn refuse(&self, expected: impl Into<String>, found: &str) -> Error {
        Error::bad_input(format!("{} `{}`", self.kind, self.text), expected, found, self.remedy)
    }

    /// Refuses options other than those `known`.
    ///
    /// # Errors
    /// As said.
    pub fn allow(&self, known: &[&str]) -> Result<()> {
        match self.options.keys().find(|key| !known.contains(*key)) {
            None => Ok(()),
            Some(key) if known.is_empty() => {
                Err(self.refuse(format!("no option for `{}`", self.name), &format!("`{key}`")))
            }
            Some(key) => Err(self.refuse(format!("options among {}", known.join(", ")), &format!("`{key}`"))),
        }
    }

    /// Refuses an operand.
    ///
    /// # Errors
    /// As said.
    pub fn no_operand(&self) -> Result<()> {
        match self.operand {
            None => Ok(()),
            Some(operand) => Err(self.refuse(format!("nothing after `{}`", self.name), &format!("`:{operand}`"))),
        }
    }

    /// The value of an option as it is written.
    pub fn written(&self, key: &str) -> Option<&'a str> {
        self.options.get(key).copied()
    }

    /// The value of an option that need not be there.
    ///
    /// # Errors
    /// Something that is not a number of that type.
    pub fn option<T: FromStr>(&self, key: &str) -> Result<Option<T>> {
        let number = |value: &str| {
            value.parse().map_err(|_| self.refuse(format!("a number for `{key}`"), &format!("`{value}`")))
        };
        self.written(key).map(number).transpose()
    }

    /// The value of an option that must be there.
    ///
    /// # Errors
    /// It is missing, or not a number of that type.
    pub fn required<T: FromStr>(&self, key: &str) -> Result<T> {
        self.option(key)?.ok_or_else(|| self.refuse(format!("the option `{key}=…`"), "none"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Call<'_>> {
        Call::parse("strategy", text, "write it right")
    }

    #[test]
    fn names_options_and_operands_are_told_apart() {
        let call = parse("eigen-design(tolerance=1e-6, steps=3):matrix:A(1).npy").unwrap();
        assert_eq!((call.name(), call.operand()), ("eigen-design", Some("matrix:A(1).npy")));
        assert_eq!(call.required::<f64>("tolerance").unwrap(), 1e-6);
        assert_eq!(call.option::<usize>("steps").unwrap(), Some(3));
        assert_eq!(call.option::<usize>("group").unwrap(), None);
        assert!(!call.is_plain() && parse("optimal").unwrap().is_plain());
        assert_eq!(parse("a:b").unwrap().operand(), Some("b"));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let failed = |result: Result<Call<'_>>| result.unwrap_err().to_string();
        for (text, part) in [("a(b", "closing"), ("a(b)", "key=value"), ("a(b=1,b=2)", "twice"), ("a(b=1)c", "`c`")] {
            let message = failed(parse(text));
            assert!(message.contains(part) && message.contains("remedy"), "{text}: {message}");
        }
        let call = parse("a(b=x):c").unwrap();
        assert!(call.allow(&[]).unwrap_err().to_string().contains("no option"));
        assert!(call.allow(&["d"]).unwrap_err().to_string().contains("`b`"));
        assert!(call.no_operand().unwrap_err().to_string().contains("`:c`"));
        assert!(call.required::<f64>("b").unwrap_err().to_string().contains("`x`"));
        assert!(call.required::<f64>("d").unwrap_err().to_string().contains("`d=…`"));
    }
}
