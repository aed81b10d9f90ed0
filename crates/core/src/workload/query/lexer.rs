//! The words and symbols of a query.

use std::ops::Range;

use super::mistake::Mistake;
use super::syntax::{Word, is_word_character};

/// A word or a symbol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// A word without quotes.
    Plain(String),
    /// A quoted word.
    Quoted(String),
    /// A symbol of the grammar.
    Symbol(&'static str),
    /// The end of the text.
    End,
}

impl Token {
    /// Shows the token in a message.
    pub(super) fn shown(&self) -> String {
        match self {
            Token::Plain(text) => format!("`{text}`"),
            Token::Quoted(text) => format!("`\"{text}\"`"),
            Token::Symbol(symbol) => format!("`{symbol}`"),
            Token::End => "the end of the query".into(),
        }
    }

    /// Returns the word, unless the token is a symbol.
    pub(super) fn word(&self, at: &Range<usize>) -> Option<Word> {
        match self {
            Token::Plain(text) | Token::Quoted(text) => {
                Some(Word { text: text.clone(), at: at.clone() })
            }
            Token::Symbol(_) | Token::End => None,
        }
    }
}

/// The symbols; longer ones first.
const SYMBOLS: [&str; 11] = ["!=", "<=", ">=", "(", ")", ",", "=", "<", ">", "-", "+"];

/// Returns the tokens of a text with their bytes; the last is [`Token::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, Range<usize>)>, Mistake> {
    let mut tokens = Vec::new();
    let mut start = 0;
    loop {
        let rest = text[start..].trim_start();
        start = text.len() - rest.len();
        let Some(first) = rest.chars().next() else {
            tokens.push((Token::End, start..start));
            return Ok(tokens);
        };
        let (token, length) = if first == '"' {
            quoted(rest, start)?
        } else if let Some(length) = word_length(rest) {
            (Token::Plain(rest[..length].to_owned()), length)
        } else if let Some(symbol) = SYMBOLS.into_iter().find(|symbol| rest.starts_with(symbol)) {
            (Token::Symbol(symbol), symbol.len())
        } else {
            return Err(Mistake::new(
                start..start + first.len_utf8(),
                "words, numbers, comparisons, parentheses, commas, + and -",
                format!("`{first}`"),
                "quote names and values with other characters: \"…\"",
            ));
        };
        tokens.push((token, start..start + length));
        start += length;
    }
}

/// Returns the length of the plain word at the start of a text, if there is one.
fn word_length(text: &str) -> Option<usize> {
    let mut characters = text.char_indices().peekable();
    while let Some((k, c)) = characters.next() {
        let is_inside = match c {
            '-' => characters.peek().is_some_and(|(_, next)| match k {
                0 => next.is_ascii_digit(),
                _ => is_word_character(*next),
            }),
            c => is_word_character(c),
        };
        if !is_inside {
            return (k > 0).then_some(k);
        }
    }
    Some(text.len())
}

/// Returns the quoted word at the start of a text, and its length. Two quotes are a quote.
fn quoted(text: &str, start: usize) -> Result<(Token, usize), Mistake> {
    let mut word = String::new();
    let mut characters = text.char_indices().skip(1).peekable();
    while let Some((k, c)) = characters.next() {
        match c {
            '"' if characters.peek().is_some_and(|(_, next)| *next == '"') => {
                word.push('"');
                characters.next();
            }
            '"' => return Ok((Token::Quoted(word), k + 1)),
            c => word.push(c),
        }
    }
    let remedy = "add the quote that closes the word; a quote inside a word is written twice";
    Err(Mistake::new(start..start + 1, "a closing quote", "the end of the query", remedy))
}
