//! The arrays of a level structure from sorted coordinates, written down from what levels mean.

use std::ops::Range;

use openwork::{IndexArray, LevelData, LevelKind};

use super::rng::Rng;

/// Levels over `sizes` that hold sorted `tuples`. Equal tuples become several positions of the last level,
/// which then has rank 0 or is not unique. Pointers start at `base`.
pub fn levels(
    kinds: &[LevelKind],
    sizes: &[usize],
    tuples: &[Vec<usize>],
    base: usize,
    rng: &mut Rng,
) -> Vec<LevelData> {
    let width = rng.below(5);
    // The tuples below each node of the level above.
    let whole: Range<usize> = 0..tuples.len();
    let mut nodes = Vec::from([whole]);
    let mut dim = 0;
    let mut out = Vec::new();
    for (l, kind) in kinds.iter().enumerate() {
        let last = l + 1 == kinds.len();
        match *kind {
            LevelKind::Dense => {
                let below = |node: &Range<usize>, i: usize| {
                    let start = node.start + tuples[node.clone()].partition_point(|t| t[dim] < i);
                    let end = node.start + tuples[node.clone()].partition_point(|t| t[dim] <= i);
                    start..end
                };
                nodes = nodes.iter().flat_map(|node| (0..sizes[dim]).map(move |i| below(node, i))).collect();
                out.push(LevelData::Dense);
            }
            LevelKind::Singleton => {
                let indices = nodes.iter().map(|node| tuples[node.start][dim]).collect();
                assert!(nodes.iter().all(|n| n.len() == 1), "a singleton needs one tuple per parent");
                out.push(LevelData::Singleton { indices: array(indices, width) });
            }
            LevelKind::Sparse { rank } => {
                let mut pointers = vec![base];
                let mut children = Vec::new();
                for node in &nodes {
                    let mut start = node.start;
                    for i in node.clone() {
                        let ends =
                            i + 1 == node.end || last || tuples[i + 1][dim..dim + rank] != tuples[i][dim..dim + rank];
                        if ends {
                            children.push(start..i + 1);
                            start = i + 1;
                        }
                    }
                    pointers.push(base + children.len());
                }
                let column = |d: usize| children.iter().map(|c| tuples[c.start][d]).collect::<Vec<_>>();
                let unique = !last || tuples.windows(2).all(|w| w[0] != w[1]);
                out.push(LevelData::Sparse {
                    pointers: (l > 0 || rank == 0 || base > 0 || rng.one_in(3)).then(|| array(pointers, width)),
                    indices: (dim..dim + rank).map(|d| array(column(d), width)).collect(),
                    ordered: rng.one_in(2),
                    unique: unique && rng.one_in(2),
                });
                nodes = children;
            }
            other => panic!("no arrays are known of {other}"),
        }
        dim += kind.rank();
    }
    out
}

/// An index array in one of the widths that constructors take.
pub fn array(values: Vec<usize>, width: usize) -> IndexArray {
    match width {
        0 => values.iter().map(|&v| v as u32).collect::<Vec<u32>>().into(),
        1 => values.iter().map(|&v| v as i32).collect::<Vec<i32>>().into(),
        2 => values.iter().map(|&v| v as u64).collect::<Vec<u64>>().into(),
        3 => values.iter().map(|&v| v as i64).collect::<Vec<i64>>().into(),
        _ => values.into(),
    }
}
