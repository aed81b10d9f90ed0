//! `matmech completions`: shell completion scripts.

use clap::Args;
use clap_complete::Shell;

use super::output;

/// Arguments of `matmech completions`.
#[derive(Debug, Args)]
#[command(after_help = "\
Installation:
  bash        matmech completions bash > ~/.local/share/bash-completion/completions/matmech
  zsh         matmech completions zsh > DIR/_matmech   with DIR in $fpath, before compinit runs
  fish        matmech completions fish > ~/.config/fish/completions/matmech.fish
  elvish      matmech completions elvish >> ~/.config/elvish/rc.elv
  powershell  matmech completions powershell >> $PROFILE")]
pub(super) struct CompletionsCommand {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

impl CompletionsCommand {
    /// Prints the script for the command `matmech`.
    pub(super) fn run(&self, mut command: clap::Command) -> anyhow::Result<()> {
        let name = command.get_name().to_owned();
        // Into memory first: the generator panics if it cannot write, e.g. to a closed pipe.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, name, &mut script);
        output::to_standard_output("the completion script", |out| out.write_all(&script))
    }
}
