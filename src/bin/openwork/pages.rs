//! `openwork completions` and `openwork man`: what shells and the manual know of the command.

use std::io::Write;

use clap::CommandFactory;

use crate::arguments::{Arguments, Completions, Man};
use crate::failure::Failure;

pub(crate) fn completions(arguments: &Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "openwork", &mut script);
    printed(&script)
}

pub(crate) fn man(arguments: &Man) -> Result<(), Failure> {
    let mut command = Arguments::command();
    command.build();
    if let Some(name) = &arguments.command {
        let known: Vec<String> = command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
        let Some(found) = command.find_subcommand(name) else {
            return Err(Failure::Usage(format!("{name:?} is no command; known are {}", known.join(", "))));
        };
        command = found.clone();
    }
    let title = arguments.command.as_ref().map_or_else(|| "openwork".to_owned(), |name| format!("openwork-{name}"));
    let mut page = Vec::new();
    let manual = clap_mangen::Man::new(command).title(title).manual("openwork");
    manual.source(concat!("openwork ", env!("CARGO_PKG_VERSION"))).render(&mut page)?;
    printed(&page)
}

fn printed(text: &[u8]) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(text)?;
    Ok(out.flush()?)
}
