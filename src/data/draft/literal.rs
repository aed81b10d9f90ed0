//! Names, values, numbers and lists as TOML.

use std::fmt::Write;

use crate::decimal::Decimal;
use crate::schema::ListedValue;

/// Maximum length of a line of values.
const LINE: usize = 96;

/// Returns a text in quotation marks, on one line.
pub(super) fn text(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => {
                quoted.push('\\');
                quoted.push(character);
            }
            // Separators of lines and directions of writing could make a comment look like a key.
            _ if character.is_control()
                || matches!(u32::from(character), 0x2028..=0x202e | 0x2066..=0x2069) =>
            {
                let _ = write!(quoted, "\\u{:04x}", u32::from(character));
            }
            _ => quoted.push(character),
        }
    }
    quoted + "\""
}

/// Returns a number that a schema reads exactly; `None` if TOML has none.
pub(super) fn number(number: &Decimal) -> Option<String> {
    if let Some(integer) = number.to_i64() {
        return Some(integer.to_string());
    }
    let double = number.to_f64();
    (Decimal::shortest(double).as_ref() == Some(number)).then(|| format!("{double:?}"))
}

/// Returns a value of a list; a number that TOML does not have is the text that denotes it.
pub(super) fn value(value: &ListedValue) -> String {
    match value {
        ListedValue::Text(listed) => text(listed),
        ListedValue::Number(listed) => number(listed).unwrap_or_else(|| text(&listed.to_string())),
        ListedValue::Boolean(boolean) => boolean.to_string(),
        ListedValue::Time(_) => value.to_string(),
    }
}

/// Returns a key with a list, on one line if it is short.
pub(super) fn list(key: &str, values: &[String]) -> String {
    let line = format!("{key} = [{}]\n", values.join(", "));
    if line.chars().count() <= LINE {
        return line;
    }
    let mut text = format!("{key} = [\n ");
    let mut length = 1;
    for value in values {
        if length > 1 && length + value.chars().count() + 2 > LINE {
            text += "\n ";
            length = 1;
        }
        text += &format!(" {value},");
        length += value.chars().count() + 2;
    }
    text + "\n]\n"
}
