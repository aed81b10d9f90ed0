//! Texts of a release as blocks, written as Markdown and as HTML.
//!
//! Names, values and files of users are plain data in a block; only the writers know the characters
//! that their format reserves. Nothing is parsed.
//!
//! | file | purpose |
//! |---|---|
//! | `blocks` | paragraphs, lists, tables and code |
//! | `markdown` | Markdown (CommonMark with tables) |
//! | `html` | HTML |

mod blocks;
mod html;
mod markdown;

pub use blocks::{Block, Line, Part, code, strong, text};
pub use html::{block_to_html, escaped, line_to_html};
pub use markdown::to_markdown;
