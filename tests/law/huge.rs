//! Axes of 2^40 along which nothing is stored. Every op answers at once, or says in an error what it lacks; none ends the
//! process, asks for much memory, or hangs.
//!
//! The cases run in a process of their own whose address space is limited, so that a block nobody checked ends that
//! process and not the machine.

use std::io::{BufRead, BufReader};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use openwork::{DType, Fill, Layout, LevelKind, LevelSpec, Part, Result, Scalar, Tensor};

use super::memory::largest_block;
use super::support_table::ops::{self, Op};

const FAR: usize = 1 << 40;

/// The largest block that a case may ask for: a result that is dense takes at most the densify budget, 16 MiB, or as much
/// as few elements do.
const LARGEST: usize = 64 << 20;

/// The address space of the process, of which the program itself takes a part, in KiB.
const SPACE: usize = 3 << 20;

/// How long a case may take; more than it would need on a machine that does much else.
const LONGEST: Duration = Duration::from_secs(5);

/// After so long without a word, the process is ended.
const SILENCE: Duration = Duration::from_secs(30);

/// Which case the process begins with.
const FROM: &str = "LAW_HUGE_FROM";

/// How a tensor is stored.
#[derive(Debug)]
enum Structure {
    Named(Layout),
    Levels(LevelSpec),
}

/// Layouts that hold a long axis without anything as long, of a shape.
fn stores() -> Vec<(Vec<usize>, Structure)> {
    let of = |shape: [usize; 2], layouts: &[Layout]| {
        layouts.iter().map(|&layout| (shape.to_vec(), Structure::Named(layout))).collect::<Vec<_>>()
    };
    let hybrid = Layout::HybridCoo { dense_dims: 1 };
    let (rows, columns) = (Layout::Bsr { block: [2, 2] }, Layout::Bsc { block: [2, 2] });
    let mut out = of([FAR, FAR], &[Layout::Coo, Layout::Dcsr, Layout::Dcsc, Layout::Csf]);
    out.extend(of([6, FAR], &[Layout::Coo, hybrid, Layout::Csr, Layout::Dcsr, Layout::Csf, rows]));
    out.extend(of([FAR, 6], &[Layout::Coo, hybrid, Layout::Csc, Layout::Dcsc, Layout::Csf, columns]));
    out.extend(of([0, FAR], &[Layout::Coo, hybrid, Layout::Csr, Layout::Csf]));
    // Columns outside: a row of values as long as the first axis.
    let turned = vec![(1, Part::Whole), (0, Part::Whole)];
    let first = LevelSpec { levels: vec![LevelKind::Sparse { rank: 1 }], dims: turned };
    out.push((vec![FAR, 6], Structure::Levels(first)));
    out
}

const FILLS: [&str; 4] = ["0", "1", "varying", "undefined"];

fn fill(name: &str, shape: &[usize], dtype: DType) -> Fill {
    let small: Vec<usize> = shape.iter().map(|&n| if n <= 6 { n } else { 1 }).collect();
    match name {
        "0" => Fill::Scalar(Scalar::zero(dtype)),
        "1" => Fill::Scalar(Scalar::one(dtype)),
        "undefined" => Fill::Undefined,
        _ => {
            let values = (1..=small.iter().product::<usize>() as i32).collect();
            Fill::array(Tensor::from_vec(&small, values).unwrap().cast(dtype).unwrap())
        }
    }
}

/// A tensor that stores nothing; `None` where the layout has no room for its own arrays.
fn nothing(shape: &[usize], structure: &Structure, fill: Fill, dtype: DType) -> Result<Tensor> {
    let x = Tensor::empty(shape, dtype, Layout::Coo, fill)?;
    match structure {
        Structure::Named(layout) => x.to_layout(*layout),
        Structure::Levels(spec) => x.to_levels(spec),
    }
}

fn check(op: &Op, x: &Tensor) -> std::result::Result<(), String> {
    let begun = Instant::now();
    let (result, largest) = largest_block(|| catch_unwind(AssertUnwindSafe(|| (op.run)(x))));
    let took = begun.elapsed();
    match result {
        Err(_) => return Err("panics".to_string()),
        Ok(Err(e)) if e.to_string().is_empty() => return Err("an error without a message".to_string()),
        _ => {}
    }
    if largest > LARGEST {
        return Err(format!("asks for {largest} bytes in one block"));
    }
    if took > LONGEST { Err(format!("takes {took:?}")) } else { Ok(()) }
}

/// Every case, numbered; those before the given one are passed over. Each says its name before it begins.
#[test]
fn in_a_process_of_its_own() {
    let Some(from) = std::env::var(FROM).ok().and_then(|n| n.parse::<usize>().ok()) else { return };
    let mut number = 0;
    for (shape, structure) in &stores() {
        for name in FILLS {
            for op in ops::all() {
                number += 1;
                if number <= from {
                    continue;
                }
                println!("case {number} {} on {structure:?} of {shape:?} with fill {name}", op.label);
                let x = match nothing(shape, structure, fill(name, shape, op.dtype), op.dtype) {
                    Ok(x) => x,
                    Err(e) => {
                        println!("wrong no tensor: {e}");
                        continue;
                    }
                };
                if let Err(why) = check(&op, &x) {
                    println!("wrong {why}");
                }
            }
        }
    }
    println!("done {number}");
}

/// Starts the process of the cases after the given one.
fn start(from: usize) -> Child {
    let program = std::env::current_exe().unwrap();
    let script = format!("ulimit -v {SPACE} && exec \"$0\" \"$@\"");
    Command::new("sh")
        .args(["-c", &script])
        .arg(program)
        .args(["--exact", "huge::in_a_process_of_its_own", "--nocapture", "--test-threads", "1"])
        .env(FROM, from.to_string())
        .env("RUST_BACKTRACE", "0")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Runs the process to its end, or to the end of its patience: what went wrong, and after which case it died.
fn run(from: usize, wrong: &mut Vec<String>) -> (Option<usize>, usize) {
    let mut child = start(from);
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || lines.map_while(std::result::Result::ok).try_for_each(|line| send.send(line)));
    let (mut number, mut case, mut cases) = (from, "nothing yet".to_string(), 0);
    let ended = loop {
        match receive.recv_timeout(SILENCE) {
            Ok(line) => {
                if let Some(name) = line.split_once("case ").map(|(_, name)| name) {
                    (number, case, cases) = (number + 1, name.to_string(), cases + 1);
                } else if let Some(why) = line.strip_prefix("wrong ") {
                    wrong.push(format!("{case}: {why}"));
                } else if line.starts_with("done ") {
                    child.wait().unwrap();
                    return (None, cases);
                }
            }
            Err(RecvTimeoutError::Timeout) => break "hangs",
            Err(RecvTimeoutError::Disconnected) => break "ends the process",
        }
    };
    let _ = child.kill();
    child.wait().unwrap();
    wrong.push(format!("{case}: {ended}"));
    (Some(number), cases)
}

#[test]
#[cfg(target_os = "linux")]
fn nothing_stored_along_axes_of_2_to_the_40() {
    let (mut wrong, mut next, mut cases) = (Vec::new(), Some(0), 0);
    while let Some(from) = next {
        let (more, n) = run(from, &mut wrong);
        cases += n;
        next = more.filter(|_| wrong.len() < 40);
    }
    assert!(wrong.is_empty(), "{} of {cases} cases:\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
    assert!(cases >= ops::all().len() * stores().len() * FILLS.len(), "{cases} cases only");
}

/// A fill along one axis beside another that no memory holds: nothing is made for each of its places.
#[test]
fn pairs_over_fills_beside_huge_axes_take_little_memory() {
    let fill = |shape: [usize; 3]| Fill::array(Tensor::from_vec(shape, vec![1.0, 2.0, 3.0]).unwrap());
    for (layout, huge) in
        [(Layout::Coo, 1i64 << 28), (Layout::Csf, 1 << 28), (Layout::Coo, 1 << 40), (Layout::Csf, 1 << 40)]
    {
        let tensor = |seed: i64| {
            let at = |f: &dyn Fn(i64) -> i64| (0..600).map(f).collect::<Vec<i64>>();
            let indices = vec![at(&|i| i / 200), at(&|i| (i % 200) * (huge / 200) + seed), at(&|i| (i + seed) % 5)];
            let values = Tensor::from_vec([600], (0..600).map(f64::from).collect::<Vec<f64>>()).unwrap();
            let x = Tensor::coo([3, huge as usize, 5], indices, &values, fill([3, 1, 1])).unwrap();
            x.to_layout(layout).unwrap()
        };
        let (x, y) = (tensor(1), tensor(2));
        let (sum, most) = largest_block(|| x.add(&y).unwrap());
        assert!(most < 1 << 20, "{layout} {huge}: {most} bytes");
        assert_eq!((sum.nse(), sum.layout()), (1200, layout));
        let at = |x: &Tensor, i: usize| x.get([1, i, 1]).unwrap();
        assert_eq!(at(&sum, 0), Some(4.0.into()));
        // Element 200 of x, in place 1 of the huge axis, stands over the second fill of y.
        let place = [1, 1, 201 % 5];
        assert_eq!((x.get(place).unwrap(), sum.get(place).unwrap()), (Some(200.0.into()), Some(202.0.into())));
    }
}
