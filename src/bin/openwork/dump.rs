//! `openwork dump` and `openwork head`: stored elements, a line each.

use std::io::Write;
use std::ops::{ControlFlow, Range};
use std::path::Path;

use openwork::Scalar;
use openwork::io::Piece;

use crate::arguments::{Dump, Head, Reading};
use crate::failure::Failure;
use crate::number;
use crate::pieces::pieces;

/// What a line looks like.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    /// `[[0, 3], 0.25]`
    Json,
    /// `0,3,0.25`
    Csv,
}

impl Form {
    fn of(csv: bool) -> Form {
        if csv { Form::Csv } else { Form::Json }
    }
}

pub(crate) fn run(arguments: &Dump) -> Result<(), Failure> {
    lines(&arguments.file, &arguments.reading, arguments.rows.clone(), Form::of(arguments.csv), u64::MAX)
}

pub(crate) fn head(arguments: &Head) -> Result<(), Failure> {
    lines(&arguments.file, &arguments.reading, None, Form::of(arguments.csv), arguments.lines)
}

/// Prints at most so many stored elements.
fn lines(file: &Path, reading: &Reading, rows: Option<Range<usize>>, form: Form, most: u64) -> Result<(), Failure> {
    let mut out = std::io::BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
    let (mut printed, mut headed, mut failed) = (0, false, Ok(()));
    let read = pieces(file, reading, rows, &mut |piece| {
        if form == Form::Csv && !headed {
            failed = header(&piece, &mut out);
            headed = true;
        }
        if failed.is_ok() {
            failed = piece_lines(&piece, form, most, &mut printed, &mut out);
        }
        if failed.is_err() || printed == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    failed?;
    // What was read before a fault is printed, the fault told behind it.
    out.flush()?;
    read
}

fn header(piece: &Piece, out: &mut impl Write) -> std::io::Result<()> {
    for axis in 0..piece.shape.len() {
        write!(out, "axis_{axis},")?;
    }
    writeln!(out, "{}", if piece.tensor.dtype().is_complex() { "real,imaginary" } else { "value" })
}

fn piece_lines(piece: &Piece, form: Form, most: u64, printed: &mut u64, out: &mut impl Write) -> std::io::Result<()> {
    let mut line = String::new();
    for (mut index, value) in piece.tensor.iter_stored() {
        if *printed == most {
            break;
        }
        *printed += 1;
        index.iter_mut().zip(&piece.origin).for_each(|(at, origin)| *at += origin);
        line.clear();
        match form {
            Form::Json => {
                line.push_str(&format!("[{index:?}, "));
                number::push_json(&mut line, value);
                line.push_str("]\n");
            }
            Form::Csv => push_csv(&mut line, &index, value),
        }
        out.write_all(line.as_bytes())?;
    }
    Ok(())
}

fn push_csv(line: &mut String, index: &[usize], value: Scalar) {
    for at in index {
        line.push_str(&at.to_string());
        line.push(',');
    }
    match value {
        Scalar::Complex64(value) => {
            number::push_bare(line, value.re.into());
            line.push(',');
            number::push_bare(line, value.im.into());
        }
        Scalar::Complex128(value) => {
            number::push_bare(line, value.re);
            line.push(',');
            number::push_bare(line, value.im);
        }
        Scalar::F16(value) => number::push_bare(line, value.to_f64()),
        Scalar::BF16(value) => number::push_bare(line, value.to_f64()),
        Scalar::F32(value) => number::push_bare(line, value.into()),
        Scalar::F64(value) => number::push_bare(line, value),
        other => line.push_str(&other.to_string()),
    }
    line.push('\n');
}
