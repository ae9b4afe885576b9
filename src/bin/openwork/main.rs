//! `openwork`: look at tensors in files, draw, convert, check and print them.
//!
//! Exit status: 0 all is well; 1 the file is invalid, or what was asked for cannot be done with it; 2 the file cannot
//! be read or written, its format is not known, or the command is wrong; 130 it was interrupted.

mod arguments;
mod compliance;
mod convert;
mod diff;
mod dump;
mod failure;
mod info;
mod number;
mod pages;
mod pieces;
mod progress;
mod spy;
mod validate;

use std::process::ExitCode;

use arguments::{Arguments, Command};
use clap::Parser;

/// The exit status that shells give a command stopped by an interrupt.
const INTERRUPTED: i32 = 130;

/// The exit status of `diff` where it could not compare.
const TROUBLE: u8 = 2;

fn main() -> ExitCode {
    // What is half written when the user stops it is removed; without a handler it would stay until the next write.
    let _ = ctrlc::set_handler(|| {
        openwork::io::abandon_writes();
        std::process::exit(INTERRUPTED);
    });
    let command = Arguments::parse_from(compliance::called(std::env::args_os().collect())).command;
    // What is different has the status of what is wrong elsewhere.
    let troubled = matches!(command, Command::Diff(_));
    let done = match command {
        Command::Info(arguments) => info::run(&arguments),
        Command::BinsparseToBinsparse(arguments) => compliance::binsparse_to_binsparse(&arguments).map(|()| 0),
        Command::BinsparseToNpy(arguments) => compliance::binsparse_to_npy(&arguments).map(|()| 0),
        Command::NpyToBinsparse(arguments) => compliance::npy_to_binsparse(&arguments).map(|()| 0),
        Command::Completions(arguments) => pages::completions(&arguments).map(|()| 0),
        Command::Convert(arguments) => convert::run(&arguments).map(|()| 0),
        Command::Diff(arguments) => diff::run(&arguments),
        Command::Dump(arguments) => dump::run(&arguments).map(|()| 0),
        Command::Head(arguments) => dump::head(&arguments).map(|()| 0),
        Command::Man(arguments) => pages::man(&arguments).map(|()| 0),
        Command::Spy(arguments) => spy::run(&arguments).map(|()| 0),
        Command::Validate(arguments) => validate::run(&arguments),
    };
    match done {
        Ok(status) => ExitCode::from(status),
        // Whoever read the output has seen enough.
        Err(failure) if failure.is_closed_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("openwork: {failure}");
            ExitCode::from(if troubled { TROUBLE } else { failure.status() })
        }
    }
}
