//! One pass over the elements of a sparse tensor of several axes, each times a row of a factor for each axis, added to rows of
//! a result: what remains of `x[i, j, k] a[j, r] b[k, r]` once it is summed over `j` and `k`.
//!
//! Along a path of equal coordinates sums are kept, and multiplied by the row of a factor where a coordinate changes: SPLATT's
//! algorithm (Smith, Ravindran, Sidiropoulos, Karypis: "SPLATT: Efficient and Parallel Sparse Tensor-Matrix Multiplication",
//! 2015), over lists of coordinates in any number of axes.

use std::ops::Range;

use crate::simd::{Loop, narrowly_vectorised, prefetch};

/// Axes that a tensor may have.
pub const MOST_AXES: usize = 8;

/// Numbers of columns that a pass takes at a time.
pub const WIDTHS: [usize; 3] = [1, 8, 16];

/// Where elements are.
#[derive(Clone, Copy, Debug)]
pub enum Paths<'a> {
    /// A list of coordinates for each axis, at least two, with an entry for each element.
    Lists(&'a [&'a [u32]]),
    /// A tree: nodes of each axis, with their coordinates, the last of which are elements; and for each axis but the last the
    /// element after the last one under each node.
    Tree {
        /// Coordinates, a list for each axis.
        nodes: &'a [&'a [u32]],
        /// Ends, a list for each axis but the last.
        ends: &'a [&'a [u32]],
    },
}

impl Paths<'_> {
    /// Elements.
    pub fn len(self) -> usize {
        let lists = match self {
            Paths::Lists(lists) => lists,
            Paths::Tree { nodes, .. } => nodes,
        };
        lists.last().map_or(0, |last| last.len())
    }

    /// Whether there is no element.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }
}

/// Elements and the factors that they meet.
#[derive(Clone, Copy, Debug)]
pub struct Factored<'a> {
    /// At most [`MOST_AXES`] axes.
    pub paths: Paths<'a>,
    /// Rows of as many columns as a pass takes, one for each coordinate along an axis; none for an axis without a factor.
    pub factors: &'a [Option<&'a [f64]>],
    /// The axis whose coordinates are rows of the result; none for a result of one row.
    pub axis: Option<usize>,
}

impl Factored<'_> {
    /// Adds the elements of a range, of which `values` has all, to rows of `width` columns, the first of which is row `first`
    /// of the result. `width` is one of [`WIDTHS`].
    pub fn add(self, values: &[f64], range: Range<usize>, width: usize, first: usize, out: &mut [f64]) {
        // AVX-512 takes a tenth longer than AVX2; one column has nothing for vector instructions.
        match (width, self.paths) {
            (_, _) if range.is_empty() => {}
            (16, Paths::Lists(lists)) => {
                narrowly_vectorised(Pass::<_, 16> { path: List { lists }, of: self, values, range, first, out })
            }
            (8, Paths::Lists(lists)) => {
                narrowly_vectorised(Pass::<_, 8> { path: List { lists }, of: self, values, range, first, out })
            }
            (_, Paths::Lists(lists)) => {
                Pass::<_, 1> { path: List { lists }, of: self, values, range, first, out }.run();
            }
            (16, Paths::Tree { nodes, ends }) => {
                let path = Tree::at(nodes, ends, range.start);
                narrowly_vectorised(Pass::<_, 16> { path, of: self, values, range, first, out });
            }
            (8, Paths::Tree { nodes, ends }) => {
                let path = Tree::at(nodes, ends, range.start);
                narrowly_vectorised(Pass::<_, 8> { path, of: self, values, range, first, out });
            }
            (_, Paths::Tree { nodes, ends }) => {
                let path = Tree::at(nodes, ends, range.start);
                Pass::<_, 1> { path, of: self, values, range, first, out }.run();
            }
        }
    }
}

/// The coordinates of one element after the other. The last two axes are walked in loops of their own: fibres of elements that
/// differ along the last axis alone, under stems that share the coordinates of all axes above these two.
trait Path {
    fn axes(&self) -> usize;

    /// The end of the elements that have the stem of element `e`, at most `limit`.
    fn stem_end(&self, e: usize, limit: usize) -> usize;

    /// Goes on to the stem of element `e`, the first one after the stem before, and gives the first axis along which they
    /// differ.
    fn advance(&mut self, e: usize) -> usize;

    /// The coordinate of the stem of element `e`, at which the path is.
    fn here(&self, axis: usize, e: usize) -> usize;

    /// That of the stem before, along an axis that has changed.
    fn before(&self, axis: usize, e: usize) -> usize;

    /// The coordinate along the last axis but one of element `e`, and the end of its fibre, at most `limit`; the next call is
    /// for that element.
    fn fibre(&mut self, e: usize, limit: usize) -> (usize, usize);

    /// The coordinate along the last axis but one of an element or a fibre so far ahead, if there is one.
    fn ahead(&self, e: usize) -> Option<usize>;

    /// The last coordinates of all elements.
    fn last(&self) -> &[u32];
}

/// Each element is a fibre of its own: to tell which share one costs more than it saves.
struct List<'a> {
    lists: &'a [&'a [u32]],
}

impl Path for List<'_> {
    #[inline(always)]
    fn axes(&self) -> usize {
        self.lists.len()
    }

    #[inline(always)]
    fn stem_end(&self, e: usize, limit: usize) -> usize {
        let upper = &self.lists[..self.lists.len() - 2];
        let mut end = e + 1;
        while end < limit && upper.iter().all(|list| list[end] == list[e]) {
            end += 1;
        }
        end
    }

    #[inline(always)]
    fn advance(&mut self, e: usize) -> usize {
        let upper = self.lists.len() - 2;
        (0..upper).find(|&axis| self.lists[axis][e] != self.lists[axis][e - 1]).unwrap_or(upper)
    }

    #[inline(always)]
    fn here(&self, axis: usize, e: usize) -> usize {
        self.lists[axis][e] as usize
    }

    #[inline(always)]
    fn before(&self, axis: usize, e: usize) -> usize {
        self.lists[axis][e - 1] as usize
    }

    #[inline(always)]
    fn fibre(&mut self, e: usize, _limit: usize) -> (usize, usize) {
        (self.lists[self.lists.len() - 2][e] as usize, e + 1)
    }

    #[inline(always)]
    fn ahead(&self, e: usize) -> Option<usize> {
        self.lists[self.lists.len() - 2].get(e + AHEAD).map(|&at| at as usize)
    }

    #[inline(always)]
    fn last(&self) -> &[u32] {
        self.lists[self.lists.len() - 1]
    }
}

struct Tree<'a> {
    nodes: &'a [&'a [u32]],
    ends: &'a [&'a [u32]],
    /// The node of each axis but the last.
    node: [usize; MOST_AXES],
    fibre: usize,
}

impl<'a> Tree<'a> {
    fn at(nodes: &'a [&'a [u32]], ends: &'a [&'a [u32]], e: usize) -> Tree<'a> {
        let mut node = [0; MOST_AXES];
        for (node, ends) in node.iter_mut().zip(ends) {
            *node = ends.partition_point(|&end| end as usize <= e);
        }
        Tree { nodes, ends, node, fibre: node[ends.len() - 1] }
    }
}

impl Path for Tree<'_> {
    #[inline(always)]
    fn axes(&self) -> usize {
        self.nodes.len()
    }

    #[inline(always)]
    fn stem_end(&self, _e: usize, limit: usize) -> usize {
        match self.ends.len() - 1 {
            0 => limit,
            above => (self.ends[above - 1][self.node[above - 1]] as usize).min(limit),
        }
    }

    #[inline(always)]
    fn advance(&mut self, e: usize) -> usize {
        let mut axis = self.ends.len() - 1;
        while axis > 0 && self.ends[axis - 1][self.node[axis - 1]] as usize == e {
            axis -= 1;
            self.node[axis] += 1;
        }
        axis
    }

    #[inline(always)]
    fn here(&self, axis: usize, _e: usize) -> usize {
        self.nodes[axis][self.node[axis]] as usize
    }

    #[inline(always)]
    fn before(&self, axis: usize, _e: usize) -> usize {
        self.nodes[axis][self.node[axis] - 1] as usize
    }

    #[inline(always)]
    fn fibre(&mut self, _e: usize, limit: usize) -> (usize, usize) {
        let above = self.ends.len() - 1;
        let (at, end) = (self.nodes[above][self.fibre] as usize, self.ends[above][self.fibre] as usize);
        self.fibre += usize::from(end <= limit);
        (at, end.min(limit))
    }

    #[inline(always)]
    fn ahead(&self, _e: usize) -> Option<usize> {
        self.nodes[self.ends.len() - 1].get(self.fibre + AHEAD).map(|&at| at as usize)
    }

    #[inline(always)]
    fn last(&self) -> &[u32] {
        self.nodes[self.ends.len()]
    }
}

struct Pass<'a, P, const W: usize> {
    path: P,
    of: Factored<'a>,
    values: &'a [f64],
    range: Range<usize>,
    first: usize,
    out: &'a mut [f64],
}

/// Elements ahead of the one in work whose rows are asked for.
const AHEAD: usize = 16;

/// The row of a factor; ones without a factor.
#[inline(always)]
fn row<const W: usize>(factor: Option<&[f64]>, coordinate: usize) -> [f64; W] {
    match factor {
        Some(rows) => rows[coordinate * W..coordinate * W + W].try_into().unwrap_or([0.0; W]),
        None => [1.0; W],
    }
}

#[inline(always)]
fn times<const W: usize>(mut a: [f64; W], b: [f64; W]) -> [f64; W] {
    for (a, b) in a.iter_mut().zip(b) {
        *a *= b;
    }
    a
}

#[inline(always)]
fn plus<const W: usize>(mut a: [f64; W], b: [f64; W]) -> [f64; W] {
    for (a, b) in a.iter_mut().zip(b) {
        *a += b;
    }
    a
}

impl<P: Path, const W: usize> Pass<'_, P, W> {
    #[inline(always)]
    fn add_to_row(&mut self, row: usize, sum: [f64; W]) {
        let at = (row - self.first) * W;
        for (o, s) in self.out[at..at + W].iter_mut().zip(sum) {
            *o += s;
        }
    }

    /// The sum of a fibre: of its elements times rows of the last factor.
    #[inline(always)]
    fn fibre(&self, range: Range<usize>) -> [f64; W] {
        let factor = self.of.factors[self.path.axes() - 1];
        let of = |e: usize| times(row(factor, self.path.last()[e] as usize), [self.values[e]; W]);
        let mut sum = of(range.start);
        for e in range.start + 1..range.end {
            sum = plus(sum, of(e));
        }
        sum
    }

    /// Asks for the rows that an element a little ahead meets.
    #[inline(always)]
    fn ask(&self, e: usize) {
        let last = self.path.axes() - 1;
        if let (Some(rows), Some(&at)) = (self.of.factors[last], self.path.last().get(e + AHEAD)) {
            prefetch::<f64, W>(rows, at as usize * W);
        }
        if let (Some(rows), Some(at)) = (self.of.factors[last - 1], self.path.ahead(e)) {
            prefetch::<f64, W>(rows, at * W);
        }
    }

    /// The sum of the elements of one stem: sums of fibres times rows of the factor before the last.
    #[inline(always)]
    fn stem(&mut self, range: Range<usize>) -> [f64; W] {
        let factor = self.of.factors[self.path.axes() - 2];
        let (mut sum, mut e) = ([0.0; W], range.start);
        while e < range.end {
            self.ask(e);
            let (at, end) = self.path.fibre(e, range.end);
            sum = plus(sum, times(self.fibre(e..end), row(factor, at)));
            e = end;
        }
        sum
    }

    /// Adds sums of the fibres of one stem, times `down`, to rows of the result along the axis before the last.
    #[inline(always)]
    fn fibres_to_rows(&mut self, range: Range<usize>, down: [f64; W]) {
        let factor = self.of.factors[self.path.axes() - 2];
        let mut e = range.start;
        while e < range.end {
            self.ask(e);
            let (at, end) = self.path.fibre(e, range.end);
            let sum = times(self.fibre(e..end), down);
            self.add_to_row(at, if factor.is_some() { times(sum, row(factor, at)) } else { sum });
            e = end;
        }
    }

    /// Adds the elements of one stem, times `down`, to rows of the result along the last axis.
    #[inline(always)]
    fn elements_to_rows(&mut self, range: Range<usize>, down: [f64; W]) {
        let last = self.path.axes() - 1;
        let [above, factor] = [self.of.factors[last - 1], self.of.factors[last]];
        let mut e = range.start;
        while e < range.end {
            self.ask(e);
            let (at, end) = self.path.fibre(e, range.end);
            let down = times(down, row(above, at));
            for e in e..end {
                let at = self.path.last()[e] as usize;
                let product = times(down, [self.values[e]; W]);
                self.add_to_row(at, if factor.is_some() { times(product, row(factor, at)) } else { product });
            }
            e = end;
        }
    }
}

impl<P: Path, const W: usize> Loop for Pass<'_, P, W> {
    type Output = ();

    #[inline(always)]
    fn run(mut self) {
        let upper = self.path.axes() - 2;
        // The depth at which rows of the result are: sums of deeper axes rise to it, products of those above come down.
        let top = self.of.axis.map_or(0, |axis| axis + 1);
        // Sums below depth `d` of the current path are at `d`; at `top` they are ready for the result.
        let mut sums = [[0.0; W]; MOST_AXES + 1];
        let mut down = [[1.0; W]; MOST_AXES + 1];
        let mut next = self.range.start;
        let mut changed = 0;
        while next < self.range.end {
            // What lies above the axis of the result, and the row of its own factor.
            for axis in changed..top.min(upper) {
                down[axis + 1] = times(down[axis], row(self.of.factors[axis], self.path.here(axis, next)));
            }
            let stem = next..self.path.stem_end(next, self.range.end);
            next = stem.end;
            let sum = match top.checked_sub(upper + 1) {
                None => Some(self.stem(stem)),
                Some(below) => {
                    let down = down[upper];
                    if below == 0 {
                        self.fibres_to_rows(stem, down)
                    } else {
                        self.elements_to_rows(stem, down)
                    }
                    None
                }
            };
            // A pass that ends there does not look whether the next element is on the same path.
            changed = if next < self.path.last().len() { self.path.advance(next) } else { 0 };
            let Some(sum) = sum else { continue };
            // Sums rise as far as the path has ended: all the way at the end.
            let is_end = next == self.range.end;
            let before = |path: &P, axis: usize| {
                // Of the last element of all, and of axes that go on behind the end.
                let goes_on = next == path.last().len() || axis < changed;
                if goes_on { path.here(axis, next - 1) } else { path.before(axis, next) }
            };
            sums[upper] = plus(sums[upper], sum);
            let mut depth = upper;
            while depth > top && (depth > changed || is_end) {
                depth -= 1;
                let row = row(self.of.factors[depth], before(&self.path, depth));
                sums[depth] = plus(sums[depth], times(sums[depth + 1], row));
                sums[depth + 1] = [0.0; W];
            }
            if is_end || changed < top {
                let row = self.of.axis.map_or(0, |axis| before(&self.path, axis));
                self.add_to_row(row, times(sums[top], down[top]));
                sums[top] = [0.0; W];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lists of coordinates as a tree, a node where any coordinate down to its axis changes.
    fn tree(lists: &[&[u32]]) -> (Vec<Vec<u32>>, Vec<Vec<u32>>) {
        let last = lists.len() - 1;
        let (mut nodes, mut ends) = (vec![Vec::new(); last], vec![Vec::new(); last]);
        let n = lists[0].len();
        for e in 1..=n {
            for axis in 0..last {
                if e == n || (0..=axis).any(|a| lists[a][e] != lists[a][e - 1]) {
                    nodes[axis].push(lists[axis][e - 1]);
                    ends[axis].push(e as u32);
                }
            }
        }
        nodes.push(lists[last].to_vec());
        (nodes, ends)
    }

    /// Every axis as that of the result, and none, against one product for each element.
    #[test]
    fn sums() {
        let shape = [3usize, 4, 2, 5];
        let mut lists: Vec<Vec<u32>> = vec![Vec::new(); 4];
        let mut values = Vec::new();
        for at in 0..120usize {
            if at * at % 7 < 3 {
                let mut rest = at;
                for axis in (0..4).rev() {
                    lists[axis].push((rest % shape[axis]) as u32);
                    rest /= shape[axis];
                }
                values.push((at % 5) as f64 - 1.0);
            }
        }
        for (width, axes) in [(1, 4), (8, 4), (16, 4), (8, 3), (16, 3), (8, 2), (1, 2)] {
            let coordinates: Vec<&[u32]> = lists[4 - axes..].iter().map(|l| &l[..]).collect();
            let shape = &shape[4 - axes..];
            let rows: Vec<Vec<f64>> =
                (0..axes).map(|a| (0..shape[a] * width).map(|i| ((i * 7 + a) % 5) as f64 - 2.0).collect()).collect();
            for without in [None, Some(0), Some(axes - 1)] {
                let factors: Vec<Option<&[f64]>> =
                    (0..axes).map(|a| (without != Some(a)).then_some(&rows[a][..])).collect();
                for axis in (0..axes).map(Some).chain([None]) {
                    let n = axis.map_or(1, |axis| shape[axis]);
                    let mut want = vec![0.0; n * width];
                    for e in 0..values.len() {
                        let row = axis.map_or(0, |axis| coordinates[axis][e] as usize);
                        for c in 0..width {
                            let product = (0..axes).fold(values[e], |p, a| {
                                p * factors[a].map_or(1.0, |rows| rows[coordinates[a][e] as usize * width + c])
                            });
                            want[row * width + c] += product;
                        }
                    }
                    let (nodes, ends) = tree(&coordinates);
                    let (nodes, ends): (Vec<&[u32]>, Vec<&[u32]>) =
                        (nodes.iter().map(|l| &l[..]).collect(), ends.iter().map(|l| &l[..]).collect());
                    let tree = Paths::Tree { nodes: &nodes, ends: &ends };
                    // Without the axes above, a coordinate may come again: a list in any order.
                    for paths in [Paths::Lists(&coordinates), tree] {
                        let of = Factored { paths, factors: &factors, axis };
                        for cut in [0, values.len() / 3, values.len() / 2, values.len()] {
                            let mut got = vec![0.0; n * width];
                            of.add(&values, 0..cut, width, 0, &mut got);
                            of.add(&values, cut..values.len(), width, 0, &mut got);
                            assert_eq!(got, want, "{axes} axes, rows of axis {axis:?}, width {width}, {paths:?}");
                        }
                    }
                }
            }
        }
    }
}
