//! Names both ways.

use openwork::exchange::systems::{LevelProperties, LevelStructure, System};
use openwork::{Layout, LevelKind, LevelSpec, Part};

const D: LevelKind = LevelKind::Dense;
const P: LevelKind = LevelKind::Singleton;
const S: fn(usize) -> LevelKind = |rank| LevelKind::Sparse { rank };

/// Every list of levels of at most `most` dimensions that a tensor can have.
fn level_lists(most: usize) -> Vec<Vec<LevelKind>> {
    let mut out = vec![Vec::new()];
    let mut done = 0;
    while done < out.len() {
        let list: Vec<LevelKind> = out[done].clone();
        done += 1;
        let used: usize = list.iter().map(|l| l.rank()).sum();
        if list.last() == Some(&S(0)) {
            continue;
        }
        let mut next = vec![S(0), D, P];
        next.extend((1..=most - used).map(S));
        for level in next {
            let follows = !matches!((list.last(), level), (Some(LevelKind::Sparse { .. }), LevelKind::Singleton));
            if follows && used + level.rank() <= most {
                out.push([&list[..], &[level]].concat());
            }
        }
    }
    out.retain(|l| l.last() != Some(&D));
    out
}

fn whole(axes: &[usize]) -> Vec<(usize, Part)> {
    axes.iter().map(|&a| (a, Part::Whole)).collect()
}

#[test]
fn every_structure_has_a_name_of_its_own() {
    let mut seen = std::collections::HashSet::new();
    for levels in level_lists(4) {
        let n: usize = levels.iter().map(|l| l.rank()).sum();
        for values in 0..=2 {
            let all = n + values;
            let regular: Vec<usize> = (0..all).collect();
            let contrary: Vec<usize> = (0..all).rev().collect();
            let other: Vec<usize> = (0..all).map(|i| (i + 1) % all).collect();
            for axes in [regular, contrary, other] {
                let spec = LevelSpec { levels: levels.clone(), dims: whole(&axes) };
                let name = spec.to_string();
                assert_eq!(LevelSpec::parse(&name).unwrap(), spec, "{name}");
                if all > 2 {
                    assert!(seen.insert(name.clone()), "{name} names two structures");
                }
                // Marks of every level that can have one.
                for bits in 0..1usize << (2 * levels.len().min(3)) {
                    let mut structure = LevelStructure::from(spec.clone());
                    for (l, own) in structure.properties.iter_mut().enumerate().take(3) {
                        if matches!(levels[l], LevelKind::Sparse { rank: 1.. }) {
                            let (ordered, unique) = (bits >> (2 * l) & 1 == 0, bits >> (2 * l + 1) & 1 == 0);
                            *own = LevelProperties { ordered, unique };
                        }
                    }
                    for system in System::ALL {
                        if let Ok(name) = structure.name(system) {
                            assert_eq!(LevelStructure::parse(system, &name).unwrap(), structure, "{name}");
                        }
                    }
                }
            }
        }
    }
    assert!(seen.len() > 500, "{}", seen.len());
}

#[test]
fn layouts_by_name() {
    let shape = [4, 6];
    for (layout, rank_n, taco, mlir, finch) in [
        (
            Layout::Csr,
            "C-S-R",
            "Format({Dense, Compressed}, {0,1})",
            "(d0, d1) -> (d0 : dense, d1 : compressed)",
            "swizzle(Dense(SparseList(Element)), 2, 1)",
        ),
        (
            Layout::Csc,
            "C-S-C",
            "Format({Dense, Compressed}, {1,0})",
            "(d0, d1) -> (d1 : dense, d0 : compressed)",
            "Dense(SparseList(Element))",
        ),
        (
            Layout::Dcsr,
            "DC-S-R",
            "Format({Compressed, Compressed}, {0,1})",
            "(d0, d1) -> (d0 : compressed, d1 : compressed)",
            "swizzle(SparseList(SparseList(Element)), 2, 1)",
        ),
        (
            Layout::Coo,
            "S-S-R",
            "Format({Compressed(ModeFormat::NOT_UNIQUE), Singleton}, {0,1})",
            "(d0, d1) -> (d0 : compressed(nonunique), d1 : singleton(soa))",
            "swizzle(SparseCOO{2}(Element), 2, 1)",
        ),
        (
            Layout::HybridCoo { dense_dims: 1 },
            "S-V-R",
            "Format({Compressed, Dense}, {0,1})",
            "(d0, d1) -> (d0 : compressed, d1 : dense)",
            "swizzle(SparseList(Dense(Element)), 2, 1)",
        ),
        (
            Layout::Bsr { block: [2, 3] },
            "C-S-V-V-X(0/2,1/3,0%2,1%3)",
            "",
            "(d0, d1) -> (d0 floordiv 2 : dense, d1 floordiv 3 : compressed, d0 mod 2 : dense, d1 mod 3 : dense)",
            "",
        ),
    ] {
        let x = openwork::Tensor::zeros(shape, openwork::DType::F64, layout).unwrap();
        let structure = x.level_structure().unwrap();
        assert_eq!(structure.name(System::RankN).unwrap(), rank_n);
        assert_eq!(structure.spec.to_string(), rank_n);
        let mlir = format!("#sparse_tensor.encoding<{{ map = {mlir} }}>");
        assert_eq!(structure.name(System::Mlir).unwrap(), mlir);
        for (system, name) in [(System::Taco, taco), (System::Finch, finch)] {
            match structure.name(system) {
                Ok(own) => assert_eq!(own, name),
                Err(e) => assert!(name.is_empty() && e.to_string().contains("blocks"), "{e}"),
            }
        }
        assert_eq!(x.to_levels(&rank_n.parse().unwrap()).unwrap().layout(), layout);
    }
    let hicoo = LevelSpec::hicoo(&[2, 3]);
    assert_eq!(hicoo.to_string(), "S-DC-S-S-X(0/2,1/3,0%2,1%3)");
}

#[test]
fn several_spellings() {
    let same = |a: &str, b: &str| assert_eq!(LevelSpec::parse(a).unwrap(), LevelSpec::parse(b).unwrap(), "{a} {b}");
    same("CSR", "C-S-R");
    same("CSC", "C-S-X(1,0)");
    same("C-S", "C-S-R");
    same("CDCSSR", "C-DC-S-S-R");
    same("SS", "S-S-R");
    same("S-C-S", "DC-C-S"); // two forms of arrays, one structure
    same(" C - S - R ", "CSR");
    assert_eq!(LevelSpec::parse("C-S-C-R").unwrap().levels, [D, S(1), D, S(0)]);
    assert_eq!(LevelSpec::parse("C-S-C").unwrap().levels, [D, S(1)]);
    assert_eq!(LevelSpec::parse("S-DC").unwrap().levels, [S(2), S(0)]);
    let taco = |text: &str| LevelStructure::parse(System::Taco, text).unwrap();
    assert_eq!(taco("Format({Dense,Sparse})"), taco("(dense,compressed; 0,1)"));
    assert_eq!(taco("(compressed-nonunique,singleton; 0,1)"), taco("Format({Compressed({NOT_UNIQUE}), Singleton})"));
    let mlir = |text: &str| LevelStructure::parse(System::Mlir, text).unwrap();
    assert_eq!(
        mlir("map = (i, j) -> (i : dense, j : compressed)"),
        mlir("#sparse_tensor.encoding<{map=(d0,d1)->(d0:dense,d1:compressed),posWidth=32,crdWidth=64}>")
    );
    let finch = |text: &str| LevelStructure::parse(System::Finch, text).unwrap();
    assert_eq!(finch("Tensor(Dense(SparseList(Element(0.0))))"), finch("Dense(SparseList(Element))"));
    assert_eq!(finch("SparseList(SparsePoint(Element))"), finch("SparseCOO{2}(Element)"));
}

#[test]
fn names_that_are_none() {
    for (name, says) in [
        ("Q", "byte 0 stands 'Q', expected `S`, `C`, `DC`"),
        ("C-S-", "the end, expected `S`"),
        ("C-D-S", "stands 'D'"),
        ("C-S-R-R", "the end after the order"),
        ("C-S-X", "X(2,0,1)"),
        ("C-S-X(0,1", "`,` or `)`"),
        ("C-S-X(0)", "lists 1 dimensions, the structure has 2"),
        ("C-S-X(0,0)", "axis 0 must appear once"),
        ("C-S-X(0,2)", "axis 2 of 2"),
        ("C-S-V-X(0/2,1,0%3)", "one block size"),
        ("C-S-V-X(0/0,1,0%0)", "blocks of 0"),
        ("C-V-S-R", "after all levels"),
        ("S-P-R", "one more `S`"),
        ("C-0-R", "final `C`"),
        ("C~-S-R", "belong to `S`"),
        ("S~-S-R", "last dimension of a tuple"),
        ("S-S*-R", "LevelStructure::parse"),
        ("C-S-V~-R", "no coordinates"),
    ] {
        let e = LevelSpec::parse(name).unwrap_err().to_string();
        assert!(e.starts_with("LevelSpec::parse: argument `name`") && e.contains(says), "{name}: {e}");
    }
    for (system, name, says) in [
        (System::Taco, "Format({Dense, Hashed}, {0,1})", "a mode format"),
        (System::Taco, "Format({Dense, Compressed}, {0})", "2 mode formats and a mode ordering of 1"),
        (System::Taco, "Format({Dense, Compressed}, {0,2})", "axis 2"),
        (System::Taco, "Format({Dense(NOT_UNIQUE)}, {0})", "a dense level"),
        (System::Taco, "Format({Compressed(ZEROLESS)}, {0})", "a property"),
        (System::Taco, "Format(Dense, {0})", "byte 14 stands '{'"),
        (System::Mlir, "map = (i) -> (i : loose_compressed)", "`batch`, `loose_compressed`"),
        (System::Mlir, "map = (i, i) -> (i : dense, i : dense)", "named twice"),
        (System::Mlir, "map = (i, j) -> (i : dense)", "not all are stored"),
        (System::Mlir, "map = (i) -> (k : dense)", "a dimension of i"),
        (System::Mlir, "map = (i) -> (i floordiv 0 : dense)", "blocks of 0"),
        (System::Mlir, "map = (i) -> (i : compressed), posWidth = 7", "a width of 7"),
        (System::Mlir, "map = (i) -> (i : compressed), explicitVal = 1", "posWidth"),
        (System::Finch, "Dense(SparseHash{1}(Element))", "a level"),
        (System::Finch, "Dense(SparseList(Element)", "`)`"),
        (System::Finch, "swizzle(Dense(SparseList(Element)), 1, 1)", "does not permute"),
        (System::Finch, "SparseCOO{99999999999}(Element)", "a SparseCOO of 99999999999"),
        (System::Finch, "SparseCOO{99999999999999999999999}(Element)", "a number"),
        (System::Finch, "SparseCOO{1000}(SparseCOO{1000}(Element))", "2000 axes; at most 1024"),
    ] {
        let e = LevelStructure::parse(system, name).unwrap_err().to_string();
        assert!(e.starts_with("LevelStructure::parse: argument `name`") && e.contains(says), "{name}: {e}");
    }
}

#[test]
fn what_a_system_has_no_words_for() {
    let structure = |name: &str| LevelStructure::parse(System::RankN, name).unwrap();
    for (name, system, says) in [
        ("C-DC-R", System::Taco, "TACO has no words for several values"),
        ("C-DC-R", System::Mlir, "MLIR has no words for several values"),
        ("C-DC-R", System::Finch, "Finch has no words for several values"),
        ("C-S-V-V-X(0/2,1/2,0%2,1%2)", System::Taco, "blocks"),
        ("C-S-V-V-X(0/2,1/2,0%2,1%2)", System::Finch, "blocks"),
        ("S-S~-R", System::Finch, "unordered or repeated"),
        ("DC*-S-R", System::Finch, "unordered or repeated"),
    ] {
        let e = structure(name).name(system).unwrap_err().to_string();
        assert!(e.contains(says), "{name}: {e}");
    }
}
