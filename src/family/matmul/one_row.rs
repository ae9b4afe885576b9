//! One row of a sparse product on several threads: each takes some of its entries, and what they give is added.

use openwork_ops::matmul::{Carrier, Finish, Grid, Mask, Product, Rows, Run};
use openwork_ops::structure::gather::gather_rows_or;
use openwork_ops::structure::merge::{Keep, Selection, merge_segment};
use openwork_ops::structure::{Index, IndexVec};
use openwork_ops::with_index;

use super::operand::Stored;
use super::rows::Pass;
use crate::base::parallel;

/// Multiply-adds that are worth a thread.
const WORK: usize = 1 << 16;

/// Entries, at most, of which it is asked what they meet.
const SAMPLES: usize = 1 << 9;

impl Pass<'_> {
    /// Only what meets of a product that is one row, if it is long and sums are the same in whatever parts they are added. `None`
    /// of others.
    pub(super) fn one_row(&self, left: &Stored, right: &Stored, finish: Finish<'_>, width: usize) -> Option<Product> {
        let is_one = self.m == 1 && self.batch.is_empty() && left.ids.is_none() && right.ids.is_none();
        if parallel::threads() == 1 || !is_one || self.init.is_some() || !self.carrier.is_associative() {
            return None;
        }
        // A part has its own accumulators, `n` of them.
        let ends = cuts(left, right, WORK.max(self.n))?;
        let mask = self.mask.map(|mask| (mask, [mask.row(0)]));
        let mask = mask.as_ref().map(|(mask, rows)| Mask {
            columns: mask.rows.indices.as_slice(),
            rows,
            is_complement: mask.is_complement,
            is_total: mask.is_total,
        });
        let view = left.view();
        // Each part as a row of its own.
        let pointers = with_index!(view.pointers, _all => of_type(_all, &ends, view.base));
        let parts = Rows { pointers: pointers.as_slice(), ..view };
        let size = self.carrier.acc_size();
        let copy = |acc: &[u8], out: &mut [u8]| out.copy_from_slice(acc);
        let made = parallel::map_chunks(ends.len() - 1, 1, &|part| {
            let run = Run { left: part, right: 0, init: None, mask };
            self.carrier.kernels().gustavson(parts, &[run], right.view(), self.n, &copy, size)
        });
        let row = made.into_iter().reduce(|a, b| sum(self.carrier, &a, &b))?;
        let (n, mut values) = (row.columns.len(), vec![0u8; row.columns.len() * width]);
        // Of words, so that accumulators are aligned.
        let mut sums = vec![0u128; row.values.len().div_ceil(16)];
        let sums = &mut bytemuck::cast_slice_mut::<u128, u8>(&mut sums)[..n * size];
        sums.copy_from_slice(&row.values);
        finish(sums, &mut values);
        Some(Product { values, ..row })
    }
}

/// Numbers in the type of these.
fn of_type<I: Index>(_: &[I], ends: &[usize], base: usize) -> IndexVec {
    I::vec(ends.iter().map(|&end| I::new(end + base)).collect())
}

/// Where a row is cut so that each thread has about as many multiply-adds, and not fewer than `least`; `None` where it is best
/// left whole.
fn cuts(left: &Stored, right: &Stored, least: usize) -> Option<Vec<usize>> {
    let step = left.nse().div_ceil(SAMPLES).max(1);
    let (mut met, mut work) = (vec![0], 0);
    for start in (0..left.nse()).step_by(step) {
        let k = left.indices.get(start);
        work += (right.start(k + 1) - right.start(k)) * step.min(left.nse() - start);
        met.push(work);
    }
    let parts = parallel::threads().min(work / least);
    let cut = |part: usize| (met.partition_point(|&m| m < part * (work / parts)) * step).min(left.nse());
    (parts > 1).then(|| (0..parts).map(cut).chain([left.nse()]).collect())
}

/// The sum of two rows, of one width of indices.
fn sum(carrier: Carrier, a: &Product, b: &Product) -> Product {
    with_index!(a.columns.as_slice(), columns => {
        let others = Index::of(b.columns.as_slice()).unwrap_or_default();
        debug_assert_eq!(others.len(), b.columns.len());
        merged(carrier, (columns, &a.values), (others, &b.values))
    })
}

fn merged<I: Index>(carrier: Carrier, (a, xs): (&[I], &[u8]), (b, ys): (&[I], &[u8])) -> Product {
    let most = a.len() + b.len();
    let [mut of_a, mut of_b, mut columns] = [const { Vec::new() }; 3];
    for places in [&mut of_a, &mut of_b, &mut columns] {
        places.resize(most, I::default());
    }
    let mut room = Selection { left: &mut of_a, right: &mut of_b, coords: &mut columns };
    let len = merge_segment(a, 0..a.len(), b, 0..b.len(), Keep::UNION, &mut room);
    columns.truncate(len);
    let (size, mut zero) = (carrier.acc_size(), [0u128]);
    let zero = &mut bytemuck::cast_slice_mut::<u128, u8>(&mut zero)[..size];
    carrier.clear(zero);
    let of = |values: &[u8], places: &[I]| {
        let mut out = vec![0u128; (len * size).div_ceil(16)];
        let bytes = &mut bytemuck::cast_slice_mut(&mut out)[..len * size];
        gather_rows_or(values, size, I::slice(&places[..len]), zero, bytes);
        out
    };
    let (mut sums, others) = (of(xs, &of_a), of(ys, &of_b));
    let sums = &mut bytemuck::cast_slice_mut::<u128, u8>(&mut sums)[..len * size];
    let others = &bytemuck::cast_slice::<u128, u8>(&others)[..len * size];
    carrier.kernels().add(Grid { values: others, row: 0, col: 1 }, len, sums);
    Product { counts: vec![len], columns: I::vec(columns), values: sums.to_vec() }
}
