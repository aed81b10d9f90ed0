//! `reproduce list`.

use std::path::Path;

use super::steps::say;
use crate::config::{self, Config, Profile};
use crate::error::Result;
use crate::experiment::kind_of;
use crate::printed::{duration, memory};
use crate::registry::Kinds;

/// Maximum characters of the last column.
const MAX_ITEM: usize = 48;

/// Prints one line per experiment and a total; nothing is planned or computed.
///
/// # Errors
/// Configs that cannot be read, or of an unknown kind.
pub(super) fn list(root: &Path, kinds: &Kinds, profile: Profile) -> Result<()> {
    let mut configs = config::load_all(root)?;
    configs.iter().try_for_each(|config| kind_of(config, &kinds.experiments).map(|_| ()))?;
    configs.sort_by(Config::cmp_by_paper);
    let mut lines = vec![["experiment", "time", "memory", "reproduces"].map(str::to_owned)];
    let (mut seconds, mut mb): (f64, f64) = (0.0, 0.0);
    for config in &configs {
        let expected = config.expected(profile);
        seconds += expected.0;
        mb = mb.max(expected.1);
        lines.push([
            config.experiment.clone(),
            duration(expected.0),
            memory(expected.1),
            shortened(config.reproduces.as_deref().unwrap_or(&config.title)),
        ]);
    }
    let total = format!("total ({profile})");
    lines.push([total, duration(seconds), memory(mb), String::new()]);
    let widths: Vec<usize> = (0..4)
        .map(|column| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0))
        .collect();
    for [experiment, time, memory, item] in &lines {
        let line = format!(
            "{experiment:<0$}  {time:>1$}  {memory:>2$}  {item}",
            widths[0], widths[1], widths[2]
        );
        say(line.trim_end());
    }
    Ok(())
}

/// Returns a text of at most [`MAX_ITEM`] characters, cut at a word.
fn shortened(text: &str) -> String {
    if text.chars().count() <= MAX_ITEM {
        return text.to_owned();
    }
    let mut kept = String::new();
    for word in text.split(' ') {
        if kept.chars().count() + word.chars().count() + 2 > MAX_ITEM {
            break;
        }
        kept += word;
        kept.push(' ');
    }
    kept.trim_end().trim_end_matches([',', ':']).to_owned() + " …"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_items_are_cut_at_a_word() {
        assert_eq!(shortened("S1, Fig. 2"), "S1, Fig. 2");
        let cut = shortened("S1, Sec. 3 to 5 and appendices A to D: claims about everything");
        assert_eq!(cut, "S1, Sec. 3 to 5 and appendices A to D: claims …");
        assert!(cut.chars().count() <= MAX_ITEM);
    }
}
