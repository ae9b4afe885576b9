//! The book: its commands are run, what they print is what it shows, and its links lead somewhere.
//!
//! `OPENWORK_BLESS=1` writes what the commands print, and the pictures that they draw, into the book.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{python, temporary};

fn book() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("book/src")
}

fn blessing() -> bool {
    std::env::var_os("OPENWORK_BLESS").is_some()
}

/// All chapters, with the paths of the summary.
fn chapters() -> Vec<String> {
    let summary = std::fs::read_to_string(book().join("SUMMARY.md")).unwrap();
    let link = |line: &str| Some(line.split_once("](")?.1.split_once(')')?.0.to_owned());
    summary.lines().filter_map(link).collect()
}

/// What stands behind this command in a script, so that its status is there for the next one to see.
const MARK: &str = "===== end of a command =====";

/// What each of some commands of a block prints, in a folder.
fn outputs(folder: &Path, commands: &[&str]) -> Vec<String> {
    let mut script = "exec 2>&1\n".to_owned();
    for command in commands {
        script.push_str(&format!("{command}\nstatus=$?; echo '{MARK}'; (exit $status)\n"));
    }
    let program = Path::new(env!("CARGO_BIN_EXE_openwork")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let output = Command::new("sh").args(["-c", &script]).current_dir(folder).env("PATH", path).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let mut each: Vec<String> = printed.split(&format!("{MARK}\n")).map(str::to_owned).collect();
    each.pop();
    assert_eq!(each.len(), commands.len(), "{script}\n{printed}");
    each
}

/// A block with what its commands print.
fn played(folder: &Path, block: &str) -> String {
    let commands: Vec<&str> = block.lines().filter_map(|line| line.strip_prefix("$ ")).collect();
    assert!(block.starts_with("$ "), "a session starts with a command:\n{block}");
    let texts = outputs(folder, &commands);
    let shown = commands.iter().zip(texts).map(|(command, text)| {
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        // Terminals show no blanks at the ends of lines, and editors take them away.
        let lines: String = text.lines().map(|line| format!("{}\n", line.trim_end())).collect();
        format!("$ {command}\n{lines}{}", if lines.is_empty() { "" } else { end })
    });
    shown.collect()
}

/// The blocks of a text in a language.
fn blocks<'a>(text: &'a str, language: &str) -> impl Iterator<Item = &'a str> {
    let open = format!("```{language}\n");
    let starts: Vec<usize> = text.match_indices(&open).map(|(at, _)| at + open.len()).collect();
    starts.into_iter().filter_map(move |at| text[at..].split("```").next())
}

/// Every session of every chapter, each chapter in a folder of its own with the files that the project has for it.
#[cfg(unix)]
#[test]
fn sessions_show_what_the_command_prints() {
    const OPEN: &str = "```console\n";
    let (mut run, mut blocks_of_python) = (0, 0);
    for chapter in chapters() {
        let path = book().join(&chapter);
        let text = std::fs::read_to_string(&path).unwrap();
        let folder = temporary(&format!("book-{}", chapter.replace(['/', '.'], "-")));
        let made = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files/models/checkpoints/training.pt");
        std::fs::copy(made, folder.join("training.pt")).unwrap();
        let mut rest = text.as_str();
        let mut out = String::new();
        while let Some((before, after)) = rest.split_once(OPEN) {
            let (block, after) = after.split_once("```").unwrap();
            let printed = played(&folder, block);
            if !blessing() {
                assert_eq!(block, printed, "{chapter}: the book shows something else than the command prints");
            }
            out.push_str(&format!("{before}{OPEN}{printed}```"));
            rest = after;
            run += 1;
        }
        out.push_str(rest);
        // Those that need our own package are run by its tests.
        for block in blocks(&text, "python").filter(|block| !block.contains("import openwork")) {
            let script = folder.join("block.py");
            std::fs::write(&script, block).unwrap();
            let arguments = [folder.to_str().unwrap(), script.to_str().unwrap()];
            python("sessions_show_what_the_command_prints", "book_block.py", &arguments);
            blocks_of_python += 1;
        }
        // Pictures of the book are those that its commands draw.
        for picture in std::fs::read_dir(book().join("pictures")).unwrap().map(|entry| entry.unwrap().path()) {
            let drawn = folder.join(picture.file_name().unwrap());
            if drawn.exists() && blessing() {
                std::fs::copy(&drawn, &picture).unwrap();
            } else if drawn.exists() {
                assert_eq!(std::fs::read(&drawn).unwrap(), std::fs::read(&picture).unwrap(), "{}", picture.display());
            }
        }
        if blessing() {
            std::fs::write(&path, out).unwrap();
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
    assert!(run > 20, "only {run} sessions");
    assert!(blocks_of_python > 0, "no block of Python");
}

/// The commands that the README shows, each with files of the names that it has.
#[cfg(unix)]
#[test]
fn commands_of_the_readme_run() {
    let folder = temporary("book-readme");
    let x = openwork::Tensor::random([30, 20], 0.2, 0.0, openwork::Layout::Csr, 1).unwrap();
    for name in ["in.mtx.gz", "graph.mtx.gz", "a.npz", "b.h5", "suspicious.npz", "model.h5"] {
        openwork::io::write(folder.join(name), &x).unwrap();
    }
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let commands: Vec<&str> =
        blocks(&text, "sh").flat_map(str::lines).filter(|line| line.starts_with("openwork ")).collect();
    assert!(commands.len() >= 5, "{commands:?}");
    for (command, printed) in commands.iter().zip(outputs(&folder, &commands)) {
        assert!(!printed.contains("openwork: ") && !printed.contains("error"), "{command}: {printed}");
        assert_eq!(printed.is_empty(), command.contains("diff") || command.contains("convert"), "{command}: {printed}");
    }
    let made = openwork::io::read(folder.join("out.npz")).unwrap();
    assert_eq!((made.dtype(), made.nse()), (openwork::DType::F32, x.nse()));
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Every link of the book to a file or chapter leads to one, and every chapter is in the summary.
#[test]
fn links_lead_somewhere() {
    let listed = chapters();
    let mut files = Vec::new();
    let mut folders = vec![book()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else if entry.extension().is_some_and(|end| end == "md") {
                files.push(entry);
            }
        }
    }
    for file in &files {
        let name = file.strip_prefix(book()).unwrap().to_str().unwrap();
        assert!(name == "SUMMARY.md" || listed.iter().any(|chapter| chapter == name), "{name} is not in the summary");
        let text = std::fs::read_to_string(file).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.starts_with("http") || link.starts_with('#') {
                continue;
            }
            let target = link.split('#').next().unwrap();
            assert!(file.parent().unwrap().join(target).exists(), "{name}: {link} leads nowhere");
        }
    }
    assert!(files.len() == listed.len() + 1 && listed.len() > 8, "{listed:?}");
}
