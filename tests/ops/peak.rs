//! How much memory ops have at once, as the system counts it: the operand, the result and what is needed between.
//!
//! What the system counts belongs to the whole process: each case runs in one of its own.

use std::process::Command;

use openwork::{Layout, Product, Semiring, Tensor, memory};

/// In a process of a case, which one.
const ALONE: &str = "OPENWORK_PEAK_ALONE";

const CASES: [&str; 13] = [
    "unique_values",
    "bincount",
    "argmax of columns",
    "median of columns",
    "quantile of columns",
    "median of columns of a hybrid tensor",
    "argmax of columns of a hybrid tensor",
    "median beside a fill that varies",
    "tril",
    "a product under one mask for all matrices",
    "a sparse product under a mask",
    "coordinates of a column of bytes",
    "columns of narrow rows of bytes",
];

#[test]
fn ops_have_few_times_the_memory_of_operand_and_result() {
    if !cfg!(target_os = "linux") {
        return eprintln!("SKIPPED: only Linux says what a process has had");
    }
    if let Ok(name) = std::env::var(ALONE) {
        return case(&name);
    }
    let test =
        concat!(module_path!(), "::ops_have_few_times_the_memory_of_operand_and_result").split_once("::").unwrap().1;
    for name in CASES {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture", "--test-threads=1"])
            .env(ALONE, name)
            .output()
            .unwrap();
        let (told, why) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && told.contains("1 passed"), "{why}");
        eprint!("{why}");
    }
}

/// Bytes that the system tells of this process, as `name`.
fn told(name: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim_start_matches(':').split_ascii_whitespace().next().unwrap().parse::<usize>().unwrap() << 10
}

/// Runs the op on what `make` gives, and holds it to `most` times the bytes of both.
fn hold(name: &str, most: f64, make: &dyn Fn() -> Tensor, op: &dyn Fn(&Tensor) -> Tensor) {
    memory::trim();
    let (before, program) = (told("VmRSS"), told("RssFile"));
    let x = make();
    // From here on, the greatest is counted anew.
    if std::fs::write("/proc/self/clear_refs", "5").is_err() {
        return eprintln!("SKIPPED: {name}: this system does not forget the greatest");
    }
    let out = op(&x);
    // Pages of the program itself, which come in as it runs, are none of the op's.
    let peak = told("VmHWM").saturating_sub(before + told("RssFile").saturating_sub(program)) as f64;
    let both = (x.nbytes() + out.nbytes()) as f64;
    eprintln!("{name}: {:.2}", peak / both);
    assert!(peak < most * both, "{name}: {peak} bytes, which is {:.2} times both", peak / both);
}

fn case(name: &str) {
    // Large enough for the allocator to ask the system for each array, and to give it back at once.
    const N: usize = 1 << 22;
    memory::set_limit(0);
    // In no order, all different.
    let mixed = || {
        let values: Vec<f64> = (0..N).map(|i| (i * 1_234_567 % N) as f64).collect();
        Tensor::from_vec([N], values).unwrap()
    };
    let few = || Tensor::from_vec([N], (0..N).map(|i| (i * 1_234_567 % 1000) as i64).collect()).unwrap();
    // A hundred in each of as many rows as it takes.
    let csr = || {
        let rows = N / 100;
        let (row, col): (Vec<i64>, Vec<i64>) =
            (0..rows * 100).map(|i| ((i / 100) as i64, (i % 100 * 30 + i / 100 % 30) as i64)).unzip();
        let values: Vec<f64> = (0..rows * 100).map(|i| (i * 1_234_567 % N) as f64).collect();
        let x = Tensor::from_triplets([rows, 3000], row, col, values, 0.0).unwrap();
        x.to_layout(Layout::Csr).unwrap()
    };
    let hybrid = || {
        let values: Vec<f64> = (0..N).map(|i| (i * 1_234_567 % N) as f64).collect();
        let rows: Vec<i64> = (0..N as i64 / 64).map(|i| 2 * i).collect();
        let values = Tensor::from_vec([N / 64, 64], values).unwrap();
        Tensor::coo([N / 16, 64], vec![rows], &values, 0.0).unwrap()
    };
    let varying = || {
        let x = csr();
        let fill = Tensor::from_vec([1, 3000], (0..3000).map(f64::from).collect()).unwrap();
        x.replace_fill(fill).unwrap()
    };
    // One byte in a thousand is not zero.
    let bytes = |columns: usize| {
        let rows = 16 * N / columns;
        let values = (0..rows * columns).map(|i| u8::from(i * 1_234_567 % 1000 == 0)).collect::<Vec<u8>>();
        Tensor::from_vec([rows, columns], values).unwrap()
    };
    match name {
        "coordinates of a column of bytes" => {
            hold(name, 1.5, &|| bytes(1), &|x| x.to_sparse(Layout::Coo, 0u8).unwrap());
        }
        "columns of narrow rows of bytes" => {
            hold(name, 2.5, &|| bytes(3), &|x| x.to_sparse(Layout::Csc, 0u8).unwrap());
        }
        "argmax of columns" => hold(name, 3.0, &csr, &|x| x.argmax(0).unwrap()),
        "median of columns" => hold(name, 3.0, &csr, &|x| x.median(0).unwrap()),
        "quantile of columns" => hold(name, 3.0, &csr, &|x| x.quantile(0.3, 0).unwrap()),
        "median of columns of a hybrid tensor" => hold(name, 3.1, &hybrid, &|x| x.median(0).unwrap()),
        "argmax of columns of a hybrid tensor" => hold(name, 3.6, &hybrid, &|x| x.argmax(0).unwrap()),
        "median beside a fill that varies" => hold(name, 3.0, &varying, &|x| x.median(1).unwrap()),
        "tril" => hold(name, 1.5, &csr, &|x| x.tril(-1).unwrap()),
        "a product under one mask for all matrices" => {
            // 64 elements in each of 8 · 4096 rows, as attention to what is near.
            let (row, col): (Vec<i64>, Vec<i64>) = (0..64 << 12).map(|i| (i / 64, i / 2048 * 32 + i % 64)).unzip();
            let near = Tensor::from_triplets([4096, 4128], row, col, vec![true; 64 << 12], false).unwrap();
            let near = near.to_layout(Layout::Csr).unwrap();
            let made = |shape| Tensor::random(shape, 1.0, 0.0, Layout::Strided, 1).unwrap();
            let right = made([8, 16, 4128]);
            let product = |x: &Tensor| x.matmul_with(&right, Product::default().mask(&near)).unwrap();
            hold(name, 1.6, &|| made([8, 4096, 16]), &product);
        }
        "a sparse product under a mask" => {
            // A hundred in each row, all of which a pair leads to.
            let edges = || {
                let (row, col): (Vec<i64>, Vec<i64>) =
                    (0..4_000_000).map(|i| (i / 100, i % 100 * 399 + i / 100 % 399)).unzip();
                let x = Tensor::from_triplets([40_000, 40_000], row, col, vec![1.0; 4_000_000], 0.0).unwrap();
                x.to_layout(Layout::Csr).unwrap().stored()
            };
            let pairs = |x: &Tensor| {
                let mask = x.is_stored().unwrap();
                x.matmul_with(x, Product::from(Semiring::PLUS_PAIR).mask(&mask)).unwrap()
            };
            hold(name, 1.6, &edges, &pairs);
        }
        "unique_values" => hold(name, 2.2, &mixed, &|x| x.unique_values().unwrap()),
        "bincount" => hold(name, 2.7, &few, &|x| x.bincount(None, 0).unwrap()),
        _ => panic!("no case {name}"),
    }
}
