//! The command `matmech`.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod cli;

fn main() -> std::process::ExitCode {
    cli::run()
}
