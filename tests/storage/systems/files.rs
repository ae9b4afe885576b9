//! The structures that the proposal's own tool writes: arrays to levels and back, and the same tensor as custom
//! binsparse arrays.

use std::path::Path;

use crate::common::tensors::entries;
use openwork::exchange::systems::{LevelStructure, System, SystemArrays};
use openwork::{LevelData, LevelKind, LevelSpec, Tensor};
use serde_json::Value;

use super::folder;

const FILES: [(&str, usize); 4] = [("rank1", 1), ("rank2_csr_example", 3), ("rank3", 9), ("rank4_rfc_example", 27)];

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn numbers(value: &Value) -> Vec<u64> {
    value.as_array().unwrap().iter().map(|v| v.as_u64().unwrap()).collect()
}

fn arrays(object: &Value) -> Vec<(String, Vec<u64>)> {
    object.as_object().unwrap().iter().map(|(k, v)| (k.clone(), numbers(v))).collect()
}

/// Our own arrays by their names in binsparse.
fn own_arrays(x: &Tensor) -> Vec<(String, Vec<u64>)> {
    let (mut out, mut dim) = (Vec::new(), 0);
    for (l, level) in x.levels().unwrap().into_iter().enumerate() {
        match level {
            LevelData::Dense => dim += 1,
            LevelData::Sparse { pointers, indices, .. } => {
                out.extend(pointers.filter(|_| l > 0).map(|p| (format!("pointers_to_{dim}"), entries(&p))));
                for i in indices {
                    out.push((format!("indices_{dim}"), entries(&i)));
                    dim += 1;
                }
            }
            other => panic!("{other:?}"),
        }
    }
    out.sort();
    out
}

/// The levels of a custom descriptor, read here anew.
fn custom_levels(descriptor: &Value) -> Vec<LevelKind> {
    let mut out = Vec::new();
    let mut level = &descriptor["binsparse"]["custom"]["level"];
    while level["level_desc"] != "element" {
        let rank = level["rank"].as_u64().unwrap() as usize;
        match level["level_desc"].as_str().unwrap() {
            "dense" => out.extend(vec![LevelKind::Dense; rank]),
            _ => out.push(LevelKind::Sparse { rank }),
        }
        level = &level["level"];
    }
    out
}

/// A file with all its structures.
struct File {
    name: &'static str,
    shape: Vec<usize>,
    coordinates: Vec<Vec<usize>>,
    values: Vec<f64>,
    structures: Vec<(String, Value)>,
    binsparse: Value,
}

fn files(test: &str) -> Vec<File> {
    let Some(folder) = folder(test, "formats/generated/rfc-rankN-sparsetensorviz") else { return Vec::new() };
    let read = |&(name, count): &(&'static str, usize)| {
        let file = json(&folder.join(format!("{name}.json")));
        let binsparse = json(&folder.join(format!("{name}_binsparse.json")))["binsparse"].clone();
        let structures: Vec<_> =
            file["structures"].as_object().unwrap().iter().map(|(k, v)| (k.clone(), v.clone())).collect();
        assert_eq!(structures.len(), count, "{name}");
        let usizes = |v: &Value| numbers(v).into_iter().map(|n| n as usize).collect::<Vec<_>>();
        File {
            name,
            shape: usizes(&file["shape"]),
            coordinates: file["coords_sorted"].as_array().unwrap().iter().map(usizes).collect(),
            values: file["values"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect(),
            structures,
            binsparse,
        }
    };
    FILES.iter().map(read).collect()
}

impl File {
    fn given(&self, structure: &Value) -> SystemArrays {
        let arrays = arrays(&structure["arrays"]).into_iter().map(|(k, v)| (k, v.into())).collect();
        SystemArrays {
            system: System::RankN,
            structure: structure["list"].as_str().unwrap().into(),
            shape: self.shape.clone(),
            arrays,
            values: Tensor::from_vec([self.values.len()], self.values.clone()).unwrap(),
            fill: Some(0.0.into()),
        }
    }

    fn check(&self, key: &str, structure: &Value) {
        let at = format!("{} {key}", self.name);
        let given = self.given(structure);
        let x = given.to_tensor().unwrap_or_else(|e| panic!("{at}: {e}"));
        // The elements.
        let stored: Vec<_> = x.iter_stored().collect();
        let wanted: Vec<_> = self.coordinates.iter().cloned().zip(self.values.iter().map(|&v| v.into())).collect();
        assert_eq!(stored, wanted, "{at}");
        // The same levels and arrays as in binsparse.
        let binsparse = &self.binsparse[key];
        let spec = x.level_spec().unwrap();
        assert_eq!(spec.levels, custom_levels(&binsparse["descriptor"]), "{at}");
        assert_eq!(own_arrays(&x), arrays(&binsparse["arrays"]), "{at}");
        // Back to the same arrays.
        let back = x.arrays_as(System::RankN, &given.structure).unwrap_or_else(|e| panic!("{at}: {e}"));
        let mut names: Vec<(String, Vec<u64>)> = back.arrays.iter().map(|(k, a)| (k.clone(), entries(a))).collect();
        names.sort();
        assert_eq!(names, arrays(&structure["arrays"]), "{at}");
        // The structure by name from elsewhere, and its name.
        let coo = x.to_layout(openwork::Layout::Coo).unwrap();
        let again = coo.to_levels(&LevelSpec::parse(&given.structure).unwrap()).unwrap();
        assert_eq!(own_arrays(&again), own_arrays(&x), "{at}");
        // The tool's own labels are the same levels of TACO, but for which of them it says may repeat.
        let kinds = |s: &LevelStructure| {
            let name = s.name(System::Taco).unwrap();
            name.replace("(ModeFormat::NOT_UNIQUE)", "")
        };
        let labels: Vec<&str> = structure["taco"].as_array().unwrap().iter().map(|v| v.as_str().unwrap()).collect();
        let order: Vec<String> = (0..labels.len()).map(|i| i.to_string()).collect();
        let tool = format!("({}; {})", labels.join(","), order.join(","));
        let tool = LevelStructure::parse(System::Taco, &tool).unwrap();
        assert_eq!(kinds(&tool), kinds(&x.level_structure().unwrap()), "{at}");
        for system in System::ALL {
            let there = x.arrays_for(system).unwrap();
            let back = there.to_tensor().unwrap_or_else(|e| panic!("{at} {}: {e}", there.structure));
            assert_eq!(own_arrays(&back), own_arrays(&x), "{at}");
            assert_eq!(back.level_structure(), x.level_structure(), "{at}");
        }
    }
}

#[test]
fn all_forty_structures() {
    let files = files("all_forty_structures");
    for file in &files {
        for (key, structure) in &file.structures {
            file.check(key, structure);
        }
    }
    assert!(files.is_empty() || files.iter().map(|f| f.structures.len()).sum::<usize>() == 40);
}

/// One mistake in an array of the S-before-C form is seen.
#[test]
fn s_before_c_is_checked() {
    for file in files("s_before_c_is_checked") {
        for (key, structure) in &file.structures {
            if !structure["list"].as_str().unwrap().contains("S-C") {
                continue;
            }
            let given = file.given(structure);
            for (i, (name, array)) in given.arrays.iter().enumerate() {
                let mut wrong = entries(array);
                wrong.pop();
                let mut short = given.clone();
                short.arrays[i].1 = wrong.into();
                let e = short.to_tensor().unwrap_err().to_string();
                assert!(e.contains("SystemArrays::to_tensor"), "{key} {name}: {e}");
            }
        }
    }
}
