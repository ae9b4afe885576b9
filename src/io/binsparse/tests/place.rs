use super::*;

/// Every element of an array of the shape (5, 4, 3) is its own number, whatever chunks and parts it is copied in.
#[test]
fn chunks_in_any_order_make_the_array() {
    let shape = [5, 4, 3];
    for (chunk, order) in
        [([2, 3, 2], [0, 1, 2]), ([2, 3, 2], [2, 0, 1]), ([5, 4, 3], [2, 1, 0]), ([1, 7, 4], [1, 0, 2])]
    {
        for (from, len) in [(0, 60), (7, 20), (59, 1), (12, 24)] {
            let mut out = vec![255; len];
            for number in 0..5 * 4 * 3 {
                let first = [number / 12 * chunk[0], number / 3 % 4 * chunk[1], number % 3 * chunk[2]];
                // The chunk as it is stored: its elements in the order of its axes.
                let sizes = [chunk[order[0]], chunk[order[1]], chunk[order[2]]];
                let mut elements = Vec::new();
                let mut at = [0; 3];
                for _ in 0..chunk.iter().product::<u64>() {
                    let mut index = [0; 3];
                    (0..3).for_each(|i| index[order[i]] = first[order[i]] + at[i]);
                    let inside = (0..3).all(|axis| index[axis] < shape[axis]);
                    elements.push(if inside { (index[0] * 12 + index[1] * 3 + index[2]) as u8 } else { 200 });
                    next(&mut at, &sizes);
                }
                copy(
                    &Window { shape: &shape, first: &first, chunk: &chunk, order: &order },
                    &elements,
                    1,
                    from,
                    &mut out,
                );
            }
            let wanted: Vec<u8> = (from as u8..from as u8 + len as u8).collect();
            assert_eq!(out, wanted, "{chunk:?} {order:?} {from}");
        }
    }
}
