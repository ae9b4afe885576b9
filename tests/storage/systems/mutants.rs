//! Names and arrays with random mistakes: an error or a tensor, never a panic.

use crate::common::rng::Rng;
use crate::common::tensors::entries;
use openwork::exchange::systems::{LevelStructure, System, SystemArrays};
use openwork::{LevelSpec, Tensor};

use super::samples::{all_of, tensors};

const PIECES: [&str; 34] = [
    "S",
    "C",
    "DC",
    "-",
    "V",
    "P",
    "0",
    "R",
    "X(",
    ")",
    "~",
    "*",
    "X(0/2,1,0%2)",
    "Format({",
    "Dense",
    "Compressed",
    "Singleton",
    "(NOT_UNIQUE)",
    "}, {",
    "0,1",
    "map = (",
    "i",
    "j",
    " -> (",
    " : dense",
    " : compressed(nonunique)",
    "floordiv 2",
    "mod 2",
    "SparseList(",
    "SparseCOO{2}(",
    "swizzle(",
    "Element",
    ", 18446744073709551616",
    "é",
];

#[test]
fn names() {
    let mut rng = Rng::new(1);
    let mut whole: Vec<String> = Vec::new();
    for (_, x) in tensors() {
        let structure = x.level_structure().unwrap();
        whole.extend(System::ALL.iter().filter_map(|&s| structure.name(s).ok()));
    }
    let (mut good, mut bad) = (0, 0);
    for round in 0..60_000 {
        let text = if round % 2 == 0 {
            (0..1 + rng.below(9)).map(|_| PIECES[rng.below(PIECES.len())]).collect()
        } else {
            let mut text: Vec<char> = whole[rng.below(whole.len())].chars().collect();
            for _ in 0..1 + rng.below(3) {
                let at = rng.below(text.len());
                match rng.below(3) {
                    0 => drop(text.remove(at)),
                    1 => text.insert(at, text[rng.below(text.len())]),
                    _ => text[at] = ['0', '9', 'S', 'C', '-', '(', ',', ' ', '{', '%'][rng.below(10)],
                }
                if text.is_empty() {
                    break;
                }
            }
            text.into_iter().collect::<String>()
        };
        for system in System::ALL {
            match LevelStructure::parse(system, &text) {
                // What is read has a name in the same system that reads the same.
                Ok(structure) => {
                    good += 1;
                    let name = structure.name(system).unwrap_or_else(|e| panic!("{text}: {e}"));
                    assert_eq!(LevelStructure::parse(system, &name).unwrap(), structure, "{text}");
                }
                Err(e) => {
                    bad += 1;
                    assert!(e.to_string().contains("argument `name`"), "{text}: {e}");
                }
            }
        }
        let _ = LevelSpec::parse(&text);
    }
    assert!(good > 2_000 && bad > 50_000, "{good} {bad}");
}

/// A tensor that was made of mutated arrays is one: all of it can be read.
fn is_whole(x: &Tensor) {
    let text = all_of(x);
    let again = x.arrays_for(System::RankN).ok().map(|a| all_of(&a.to_tensor().unwrap()));
    assert!(again.is_none_or(|a| a == text));
    x.coalesce().unwrap();
}

#[test]
fn arrays() {
    let mut rng = Rng::new(2);
    let mut samples: Vec<SystemArrays> = Vec::new();
    for (name, x) in tensors() {
        samples.extend(System::ALL.iter().filter_map(|&s| x.arrays_for(s).ok()));
        samples.extend([System::RankN, System::Taco].iter().filter_map(|&s| x.balanced_arrays(s, 2).ok()));
        if name == "DC-C-S-X(2,0,1)" {
            samples.push(x.arrays_as(System::RankN, "S-C-S-X(2,0,1)").unwrap());
        }
    }
    let (mut good, mut bad) = (0, 0);
    for _ in 0..20_000 {
        let mut arrays = samples[rng.below(samples.len())].clone();
        for _ in 0..1 + rng.below(2) {
            let which = rng.below(arrays.arrays.len());
            match rng.below(12) {
                0 => drop(arrays.arrays.remove(which)),
                1 => arrays.shape[0] = rng.below(7),
                2 => arrays.structure = samples[rng.below(samples.len())].structure.clone(),
                3 => arrays.values = Tensor::from_vec([3], vec![1.0, 2.0, 3.0]).unwrap(),
                _ => {
                    let mut v = entries(&arrays.arrays[which].1);
                    let at = rng.below(v.len().max(1));
                    match rng.below(5) {
                        0 => v.push(rng.below(7) as u64),
                        1 => drop(v.pop()),
                        2 if !v.is_empty() => v[at] = [0, u64::MAX >> 1, 1 << 31, v.len() as u64][rng.below(4)],
                        _ if !v.is_empty() => v[at] = rng.below(9) as u64,
                        _ => {}
                    }
                    arrays.arrays[which].1 = v.into();
                }
            }
            if arrays.arrays.is_empty() {
                break;
            }
        }
        match arrays.to_tensor() {
            Ok(x) => {
                good += 1;
                is_whole(&x);
            }
            Err(_) => bad += 1,
        }
    }
    assert!(good > 500 && bad > 10_000, "{good} {bad}");
}
