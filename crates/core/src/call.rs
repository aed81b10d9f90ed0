//! The grammar of user-supplied names: `NAME(key=value, …):OPERAND`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::str::FromStr;

pub use crate::error::nearest;
use crate::error::{Error, Result};

/// A parsed `NAME`, `NAME(key=value, …)`, `NAME:OPERAND` or `NAME(key=value, …):OPERAND`.
///
/// A value may contain balanced parentheses, and commas that are not followed by another
/// `key=value`, as in `min-sep:4,16`.
#[derive(Debug, Clone)]
pub struct Call<'a> {
    kind: &'static str,
    remedy: &'static str,
    text: Cow<'a, str>,
    name: &'a str,
    options: BTreeMap<&'a str, &'a str>,
    operand: Option<&'a str>,
}

impl<'a> Call<'a> {
    /// Parses a text. Errors use `kind` as the kind of the name and `remedy` as the correct form.
    ///
    /// # Errors
    /// An unclosed parenthesis, an option that is not `key=value`, or a repeated option.
    pub fn parse(kind: &'static str, text: &'a str, remedy: &'static str) -> Result<Self> {
        let end = text.find(['(', ':']).unwrap_or(text.len());
        let (name, rest) = text.split_at(end);
        let text = Cow::Borrowed(text);
        let mut call = Call { kind, remedy, text, name, options: BTreeMap::new(), operand: None };
        let rest = match rest.strip_prefix('(') {
            None => rest,
            Some(inside) => {
                let end =
                    closing(inside).ok_or_else(|| call.refuse("a closing parenthesis", inside))?;
                for item in options(&inside[..end]) {
                    let (key, value) = item
                        .split_once('=')
                        .ok_or_else(|| call.refuse("options as key=value", item))?;
                    if call.options.insert(key.trim(), value.trim()).is_some() {
                        return Err(
                            call.refuse("each option once", &format!("`{}` twice", key.trim()))
                        );
                    }
                }
                &inside[end + 1..]
            }
        };
        match rest.strip_prefix(':') {
            Some(operand) => call.operand = Some(operand),
            None if rest.is_empty() => {}
            None => {
                return Err(
                    call.refuse("a colon or nothing after the parenthesis", &format!("`{rest}`"))
                );
            }
        }
        Ok(call)
    }

    /// Adds the options of flags that are shorthands of options. The values are not parsed.
    ///
    /// # Errors
    /// The text already has one of the options.
    pub fn with_flags(mut self, flags: &[(&'a str, Option<&'a str>)]) -> Result<Self> {
        for &(key, value) in flags {
            let Some(value) = value else { continue };
            if self.options.contains_key(key) {
                let found = format!("`{key}` in the text and as an option of the command line");
                return Err(self.refuse("each option once", &found));
            }
            self.options.insert(key, value);
        }
        if flags.iter().any(|(_, value)| value.is_some()) {
            let options: Vec<String> =
                self.options.iter().map(|(key, value)| format!("{key}={value}")).collect();
            let operand = self.operand.map(|operand| format!(":{operand}")).unwrap_or_default();
            self.text = Cow::Owned(format!("{}({}){operand}", self.name, options.join(", ")));
        }
        Ok(self)
    }

    /// Removes an option, and returns its value as written.
    pub fn take(&mut self, key: &str) -> Option<&'a str> {
        self.options.remove(key)
    }

    /// Returns the whole text, with the options of flags.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the name.
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// Returns the text after the colon.
    pub fn operand(&self) -> Option<&'a str> {
        self.operand
    }

    /// Returns whether the text is a name without options and operand.
    pub fn is_plain(&self) -> bool {
        self.options.is_empty() && self.operand.is_none()
    }

    /// Returns an error about this text.
    pub fn refuse(&self, expected: impl Into<String>, found: &str) -> Error {
        Error::bad_input(format!("{} `{}`", self.kind, self.text), expected, found, self.remedy)
    }

    /// Refuses unknown options and suggests the nearest known one.
    ///
    /// # Errors
    /// An option that is not in `known`.
    pub fn allow(&self, known: &[&str]) -> Result<()> {
        let Some(key) = self.options.keys().find(|key| !known.contains(*key)) else {
            return Ok(());
        };
        if known.is_empty() {
            return Err(self.refuse(format!("no option for `{}`", self.name), &format!("`{key}`")));
        }
        let suggestion =
            nearest(key, known).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        Err(self
            .refuse(format!("options among {}", known.join(", ")), &format!("`{key}`{suggestion}")))
    }

    /// Refuses an operand.
    ///
    /// # Errors
    /// The text has an operand.
    pub fn no_operand(&self) -> Result<()> {
        match self.operand {
            None => Ok(()),
            Some(operand) => {
                Err(self.refuse(format!("nothing after `{}`", self.name), &format!("`:{operand}`")))
            }
        }
    }

    /// Returns the value of an option as written.
    pub fn written(&self, key: &str) -> Option<&'a str> {
        self.options.get(key).copied()
    }

    /// Returns the value of an option, if present.
    ///
    /// # Errors
    /// The value is not a number of type `T`.
    pub fn option<T: FromStr>(&self, key: &str) -> Result<Option<T>> {
        let number = |value: &str| {
            value
                .parse()
                .map_err(|_| self.refuse(format!("a number for `{key}`"), &format!("`{value}`")))
        };
        self.written(key).map(number).transpose()
    }

    /// Returns the value of a numeric option, or `default`.
    ///
    /// The value must be finite and satisfy `holds`, which `expected` describes.
    ///
    /// # Errors
    /// Any other value.
    pub fn number(
        &self,
        key: &str,
        default: f64,
        expected: &str,
        holds: impl Fn(f64) -> bool,
    ) -> Result<f64> {
        let value = self.option(key)?.unwrap_or(default);
        if value.is_finite() && holds(value) {
            return Ok(value);
        }
        Err(self.refuse(format!("{expected} for `{key}`"), &format!("`{value}`")))
    }

    /// Returns the value of a required option.
    ///
    /// # Errors
    /// The option is missing, or is not a number of type `T`.
    pub fn required<T: FromStr>(&self, key: &str) -> Result<T> {
        self.option(key)?.ok_or_else(|| self.refuse(format!("the option `{key}=…`"), "none"))
    }
}

/// Returns the index of the first closing parenthesis without an opening one.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    text.char_indices().find_map(|(at, letter)| {
        match letter {
            '(' => depth += 1,
            ')' if depth == 0 => return Some(at),
            ')' => depth -= 1,
            _ => {}
        }
        None
    })
}

/// Splits a list of options at commas outside parentheses that precede another `key=value` or
/// nothing.
fn options(text: &str) -> Vec<&str> {
    let (mut items, mut start, mut depth) = (Vec::new(), 0, 0usize);
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                let next = text[at + 1..].split([',', '(']).next().unwrap_or_default();
                if next.contains('=') || next.trim().is_empty() {
                    items.push(&text[start..at]);
                    start = at + 1;
                }
            }
            _ => {}
        }
    }
    items.push(&text[start..]);
    items.retain(|item| !item.trim().is_empty());
    items
}

/// An entry of a registry: a strategy, planner or mechanism.
pub trait Named {
    /// Returns the name used on the command line and in configs.
    fn name(&self) -> &str;

    /// Returns one line for listings.
    fn summary(&self) -> &str;

    /// Returns the options in parentheses after the name.
    fn options(&self) -> &'static [&'static str];

    /// Returns whether it takes an operand after a colon.
    fn takes_operand(&self) -> bool;
}

/// Implements [`Named`] for trait objects by the methods of their trait.
#[macro_export]
macro_rules! named {
    ($trait:ident, $takes_operand:expr) => {
        impl $crate::call::Named for dyn $trait {
            fn name(&self) -> &str {
                $trait::name(self)
            }

            fn summary(&self) -> &str {
                $trait::summary(self)
            }

            fn options(&self) -> &'static [&'static str] {
                $trait::options(self)
            }

            fn takes_operand(&self) -> bool {
                let takes: fn(&Self) -> bool = $takes_operand;
                takes(self)
            }
        }
    };
}
pub use named;

/// Returns the entry that a call names, configured by the options and the operand.
///
/// # Errors
/// An unknown name (the message lists the known ones), option or operand.
pub fn choose<T: Named + ?Sized>(
    call: &Call<'_>,
    mut entries: Vec<Box<T>>,
    configured: impl Fn(&T, &Call<'_>) -> Result<Box<T>>,
) -> Result<Box<T>> {
    let Some(index) = entries.iter().position(|entry| entry.name() == call.name()) else {
        let known: Vec<&str> = entries.iter().map(|entry| entry.name()).collect();
        return Err(Error::unknown_name(call.kind, call.name(), &known, call.remedy));
    };
    let entry = entries.swap_remove(index);
    call.allow(entry.options())?;
    if !entry.takes_operand() {
        call.no_operand()?;
    }
    if call.is_plain() { Ok(entry) } else { configured(&entry, call) }
}

/// Returns a list of entries with their options, for CLI help.
pub fn listing<T: Named + ?Sized>(entries: &[Box<T>]) -> String {
    let line = |entry: &T| {
        let options = match entry.options() {
            [] => String::new(),
            options => format!(" [{}]", options.join(", ")),
        };
        format!("  {:<28} {}{options}\n", entry.name(), entry.summary())
    };
    entries.iter().map(|entry| line(entry)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Call<'_>> {
        Call::parse("strategy", text, "write it right")
    }

    #[test]
    fn names_options_and_operands_are_parsed() {
        let call = parse("eigen-design(tolerance=1e-6, steps=3):matrix:A(1).npy").unwrap();
        assert_eq!((call.name(), call.operand()), ("eigen-design", Some("matrix:A(1).npy")));
        assert_eq!(call.required::<f64>("tolerance").unwrap(), 1e-6);
        assert_eq!(call.option::<usize>("steps").unwrap(), Some(3));
        assert_eq!(call.option::<usize>("group").unwrap(), None);
        assert!(!call.is_plain() && parse("optimal").unwrap().is_plain());
        assert_eq!(parse("a:b").unwrap().operand(), Some("b"));
        let call = parse("a(b=min-sep:4,16, c=f(x=1),)").unwrap();
        assert_eq!((call.written("b"), call.written("c")), (Some("min-sep:4,16"), Some("f(x=1)")));
    }

    #[test]
    fn mistakes_are_named_in_the_message() {
        let failed = |result: Result<Call<'_>>| result.unwrap_err().to_string();
        for (text, part) in
            [("a(b", "closing"), ("a(b)", "key=value"), ("a(b=1,b=2)", "twice"), ("a(b=1)c", "`c`")]
        {
            let message = failed(parse(text));
            assert!(message.contains(part) && message.contains("remedy"), "{text}: {message}");
        }
        let call = parse("a(width=x):c").unwrap();
        assert!(call.allow(&[]).unwrap_err().to_string().contains("no option"));
        assert!(call.allow(&["d"]).unwrap_err().to_string().contains("`width`"));
        assert!(
            call.allow(&["rounds", "widths"])
                .unwrap_err()
                .to_string()
                .contains("did you mean `widths`")
        );
        assert!(call.no_operand().unwrap_err().to_string().contains("`:c`"));
        assert!(call.required::<f64>("width").unwrap_err().to_string().contains("`x`"));
        assert!(call.required::<f64>("d").unwrap_err().to_string().contains("`d=…`"));
        assert_eq!(call.number("e", 2.0, "a positive number", |x| x > 0.0).unwrap(), 2.0);
        let call = parse("a(b=-1)").unwrap();
        let refused =
            call.number("b", 2.0, "a positive number", |x| x > 0.0).unwrap_err().to_string();
        assert!(
            refused.contains("a positive number for `b`") && refused.contains("`-1`"),
            "{refused}"
        );
    }

    /// A comma in parentheses, also before `key=value`, belongs to the value.
    #[test]
    fn options_are_split_outside_parentheses() {
        let call = parse("g(a=f(x=1,y=2), b=h(i(j=1, k), l=2),m , c=3)").unwrap();
        let written = ["a", "b", "c"].map(|key| call.written(key).unwrap());
        assert_eq!(written, ["f(x=1,y=2)", "h(i(j=1, k), l=2),m", "3"]);
        assert_eq!(call.options.len(), 3);
        assert_eq!(parse("g(a=1,f(x=1,y=2))").unwrap().written("a"), Some("1,f(x=1,y=2)"));
    }

    /// The value of a flag is not parsed.
    #[test]
    fn flags_become_options() {
        let of = |text, value| parse(text).unwrap().with_flags(&[("b", value), ("c", None)]);
        for value in ["1", "n=4,d=3/m.csv", "m)(.csv", "a, b=2", ""] {
            let call = of("a(d=2):x", Some(value)).unwrap();
            assert_eq!((call.written("b"), call.written("d")), (Some(value), Some("2")));
            assert_eq!((call.written("c"), call.operand()), (None, Some("x")));
        }
        assert_eq!(of("a", None).unwrap().text(), "a");
        assert!(of("a", None).unwrap().is_plain() && !of("a", Some("1")).unwrap().is_plain());
        assert_eq!(of("a(d=2):x", Some("1")).unwrap().text(), "a(b=1, d=2):x");
        assert!(of("a(b=2)", Some("1")).unwrap_err().to_string().contains("each option once"));
        let mut call = of("a", Some("1")).unwrap();
        assert_eq!((call.take("b"), call.take("b"), call.is_plain()), (Some("1"), None, true));
    }
}
