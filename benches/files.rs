//! Reading and writing one large matrix in CSR as binsparse: `files WHAT FILE [REPETITIONS]` prints the best time and
//! the throughput. `benches/files_h5py.py` runs it beside h5py on the same arrays, `benches/files_zarr.py` beside the package zarr; without arguments nothing is done, for
//! `cargo bench` runs every bench.
#![allow(clippy::expect_used, missing_docs)] // a bench that cannot set up has nothing to measure
#![allow(unsafe_code)] // reads a file of its own without checking it

use std::hint::black_box;
use std::time::Instant;

use openwork::Tensor;
use openwork::io::WriteOptions;
use openwork::io::binsparse;

/// About 200 MB: a million rows, 16 elements in each, values of three digits.
fn matrix() -> Tensor {
    let (rows, each) = (1 << 20, 16usize);
    let mut state = 7u64;
    let mut next = move || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        state >> 40
    };
    let pointers: Vec<u32> = (0..=rows).map(|r| (r * each) as u32).collect();
    let indices: Vec<u32> = (0..rows * each).map(|i| ((i % each) << 16) as u32 + (next() & 0xffff) as u32).collect();
    let values: Vec<f64> = (0..rows * each).map(|_| (next() % 1000) as f64 / 1000.0).collect();
    let values = Tensor::from_vec([values.len()], values).expect("one axis");
    Tensor::csr([rows, each << 16], pointers, indices, &values, 0.0).expect("a valid matrix")
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let [what, path, more @ ..] = arguments.as_slice() else { return };
    let repetitions: usize = more.first().map_or(3, |n| n.parse().expect("a number"));
    let options = match what.as_str() {
        "write-gzip" => {
            // Zarr has no such filter.
            let shuffle = !path.ends_with(".zarr");
            WriteOptions { compress: true, level: Some(4), shuffle, ..WriteOptions::default() }
        }
        _ => WriteOptions::default(),
    };
    let x = what.starts_with("write").then(matrix);
    let mut best = f64::INFINITY;
    let mut bytes = 0;
    for _ in 0..repetitions {
        let start = Instant::now();
        match (what.as_str(), &x) {
            ("write" | "write-gzip", Some(x)) => {
                binsparse::write_with(path, x, &options).expect("a file that can be written");
                bytes = x.nbytes();
            }
            ("read", _) => bytes = black_box(binsparse::read(path).expect("a good file")).nbytes(),
            ("read-trusted", _) => {
                // SAFETY: written by this program.
                let reading = unsafe { binsparse::read_trusted(path, &Default::default()) };
                bytes = black_box(reading.expect("a good file").tensor).nbytes();
            }
            ("rows", _) => {
                let reading = binsparse::read_rows(path, 1000..2000, &Default::default());
                bytes = black_box(reading.expect("a good file").tensor).nbytes();
            }
            _ => {
                eprintln!("write, write-gzip, read, read-trusted or rows, not {what}");
                std::process::exit(2);
            }
        }
        best = best.min(start.elapsed().as_secs_f64());
    }
    println!("{best:.4} s {:.0} MB/s", bytes as f64 / best / 1e6);
}
