//! Tensors of every structure, and what they are compared by.

use openwork::{Fill, LevelData, LevelSpec, Scalar, Tensor};

/// Everything a tensor is: shape, structure, fill, elements in storage order.
pub fn all_of(x: &Tensor) -> String {
    let stored: Vec<(Vec<usize>, Scalar)> = x.iter_stored().collect();
    let structure = x.level_structure();
    let fill = x.fill().map(Fill::to_string);
    format!("{:?} {} {structure:?} {fill:?} {stored:?}", x.shape(), x.dtype())
}

/// Tensors of many structures, each with its name.
pub fn tensors() -> Vec<(String, Tensor)> {
    let mut out: Vec<(String, Tensor)> = Vec::new();
    let names2 = [
        "S-S-R",
        "S-S-C",
        "C-S-R",
        "C-S-C",
        "DC-S-R",
        "DC-S-C",
        "S-V-R",
        "S-V-C",
        "C-S-V-V-X(0/2,1/3,0%2,1%3)",
        "C-S-V-V-X(1/3,0/2,0%2,1%3)",
        "S-DC-S-S-X(0/2,1/3,0%2,1%3)",
        "C-DC-S-S-X(0/2,1/3,0%2,1%3)",
    ];
    let names3 = ["S-S-S-R", "C-S-S-R", "DC-C-S-X(2,0,1)", "C-DC-S-C", "DC-DC-S-X(1,2,0)", "C-S-V-R", "S-V-V-X(1,0,2)"];
    let two = Tensor::random([4, 6], 0.4, 0.0, openwork::Layout::Coo, 3).unwrap();
    let three = Tensor::random([4, 3, 5], 0.3, 0.0, openwork::Layout::Coo, 4).unwrap();
    let none = Tensor::zeros([4, 6], openwork::DType::F64, openwork::Layout::Coo).unwrap();
    for (x, names) in [(&two, &names2[..]), (&none, &names2[..]), (&three, &names3[..])] {
        for name in names {
            let spec: LevelSpec = name.parse().unwrap();
            out.push((name.to_string(), x.to_levels(&spec).unwrap()));
        }
    }
    let values = |n: usize| Tensor::from_vec([n], (0..n).map(|i| i as f64 + 1.0).collect()).unwrap();
    let unordered = Tensor::coo([3, 4], vec![vec![2u32, 0, 2, 1], vec![1, 3, 1, 0]], &values(4), 0.0).unwrap();
    out.push(("S-S~*-R".into(), unordered));
    let repeats = Tensor::coo([3, 4], vec![vec![0u64, 0, 2], vec![1, 1, 3]], &values(3), 0.0).unwrap();
    out.push(("S-S*-R".into(), repeats));
    let one_per_row = Tensor::from_parts(
        &[3, 4],
        vec![LevelData::Dense, LevelData::Singleton { indices: vec![3u32, 0, 2].into() }],
        &"C-P-R".parse().unwrap(),
        &values(3),
        0.0,
    );
    out.push(("C-P-R".into(), one_per_row.unwrap()));
    let several = Tensor::from_parts(
        &[2, 3],
        vec![
            LevelData::Dense,
            LevelData::Sparse {
                pointers: Some(vec![0u32, 2, 3].into()),
                indices: vec![vec![0u32, 2, 1].into()],
                ordered: true,
                unique: true,
            },
            LevelData::Sparse {
                pointers: Some(vec![0u32, 1, 3, 4].into()),
                indices: vec![],
                ordered: true,
                unique: false,
            },
        ],
        &"C-DC-R".parse().unwrap(),
        &values(4),
        0.0,
    );
    out.push(("C-DC-R".into(), several.unwrap()));
    out
}
