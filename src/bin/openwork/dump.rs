//! `openwork dump`.

use std::io::Write as _;

use crate::arguments::Dump as Arguments;
use crate::convert::read;
use crate::failure::Failure;
use crate::number;

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let tensor = read(&arguments.file, &arguments.reading)?.tensor;
    let mut out = std::io::BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
    let mut line = String::new();
    for (index, value) in tensor.iter_stored() {
        line.clear();
        line.push_str(&format!("[{index:?}, "));
        number::push_json(&mut line, value);
        line.push_str("]\n");
        out.write_all(line.as_bytes())?;
    }
    Ok(out.flush()?)
}
