//! How much memory ops have at once, as the system counts it: the operand, the result and what is needed between.
//!
//! What the system counts belongs to the whole process: each case runs in one of its own.

use std::process::Command;

use openwork::{Tensor, memory};

/// In a process of a case, which one.
const ALONE: &str = "OPENWORK_PEAK_ALONE";

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
    for name in ["unique_values", "bincount"] {
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
    let before = told("VmRSS");
    let x = make();
    // From here on, the greatest is counted anew.
    if std::fs::write("/proc/self/clear_refs", "5").is_err() {
        return eprintln!("SKIPPED: {name}: this system does not forget the greatest");
    }
    let out = op(&x);
    let peak = told("VmHWM").saturating_sub(before) as f64;
    let both = (x.nbytes() + out.nbytes()) as f64;
    eprintln!("{name}: {:.2}", peak / both);
    assert!(peak < most * both, "{name}: {peak} bytes, which is {:.2} times both", peak / both);
}

fn case(name: &str) {
    const N: usize = 1 << 21;
    memory::set_limit(0);
    // In no order, all different.
    let mixed = || {
        let values: Vec<f64> = (0..N).map(|i| (i * 1_234_567 % N) as f64).collect();
        Tensor::from_vec([N], values).unwrap()
    };
    let few = || Tensor::from_vec([N], (0..N).map(|i| (i * 1_234_567 % 1000) as i64).collect()).unwrap();
    match name {
        "unique_values" => hold(name, 2.2, &mixed, &|x| x.unique_values().unwrap()),
        "bincount" => hold(name, 2.7, &few, &|x| x.bincount(None, 0).unwrap()),
        _ => panic!("no case {name}"),
    }
}
