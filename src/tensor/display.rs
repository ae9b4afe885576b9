//! How tensors print.

use std::fmt;

use openwork_ops::Scalar;

use crate::base::strided::Strided;
use crate::levels::pattern::Part;
use crate::tensor::fill::Fill;
use crate::tensor::{Sparse, Storage, Tensor};

/// At most this many entries along an axis of a dense excerpt, or of stored elements, are printed.
const EDGE: usize = 3;

impl Tensor {
    /// One line: shape, dtype, layout, fill and the number of specified elements.
    pub(crate) fn summary(&self) -> String {
        let head = format!("{:?} {} {}", self.shape(), self.dtype(), self.layout());
        match self.fill() {
            None => head,
            Some(fill) => format!("{head} fill={fill} nse={}", self.nse()),
        }
    }
}

impl fmt::Display for Tensor {
    /// As PyTorch and ndarray print: the elements (strided) or the stored elements with their indices, long
    /// ones abbreviated, and what the tensor is. Elements print as `Scalar`s do: `{:.2}` gives two decimal places, a width
    /// lines them up.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.storage {
            Storage::Strided(s) => {
                write!(f, "tensor(")?;
                nested(f, s, &mut Vec::new(), 7)?;
                write!(f, ", shape={:?}, dtype={})", s.shape, s.dtype)
            }
            Storage::Sparse(s) => {
                let size: u128 = self.size();
                write!(
                    f,
                    "tensor(shape={:?}, dtype={}, layout={}, nse={} of {size}, fill=",
                    s.shape,
                    s.dtype(),
                    self.layout(),
                    s.nse()
                )?;
                fmt::Display::fmt(&s.fill, f)?;
                let n = s.nse();
                let shown = |i: usize| n <= 4 * EDGE || i < 2 * EDGE || i >= n - 2 * EDGE;
                for (i, (index, value)) in excerpt(self, s, n) {
                    if !shown(i) {
                        continue;
                    }
                    if n > 4 * EDGE && i == n - 2 * EDGE {
                        write!(f, "\n  ...")?;
                    }
                    write!(f, "\n  {index:?} ")?;
                    fmt::Display::fmt(&value, f)?;
                }
                write!(f, ")")
            }
        }
    }
}

/// Stored elements to print: all of a small tensor, the ends of a large one.
fn excerpt(t: &Tensor, s: &Sparse, n: usize) -> Vec<(usize, (Vec<usize>, Scalar))> {
    if n <= 4 * EDGE {
        return t.iter_stored().enumerate().collect();
    }
    let places = (0..2 * EDGE).chain(n - 2 * EDGE..n);
    places.map(|i| (i, stored_at(s, i))).collect()
}

/// Stored element number `i` with its index.
fn stored_at(s: &Sparse, i: usize) -> (Vec<usize>, Scalar) {
    let block = s.pattern.block();
    let mut place = vec![0; s.values.ndim()];
    let mut rest = i % block;
    for (p, &size) in place[1..].iter_mut().zip(&s.values.shape[1..]).rev() {
        *p = rest % size;
        rest /= size;
    }
    place[0] = i / block;
    let mut index = vec![0usize; s.ndim()];
    for (d, dim) in s.pattern.level_dims().iter().enumerate() {
        let mut weights = vec![0; s.pattern.level_dims];
        weights[d] = 1;
        let mut out = [0];
        s.pattern.linearize(&weights, place[0]..place[0] + 1, &mut out);
        index[dim.axis] += out[0] as usize * dim.step();
    }
    for (dim, &within) in s.pattern.value_dims().iter().zip(&place[1..]) {
        index[dim.axis] += within * dim.step();
    }
    (index, s.values.get(&place))
}

fn nested(f: &mut fmt::Formatter<'_>, s: &Strided, index: &mut Vec<usize>, indent: usize) -> fmt::Result {
    if index.len() == s.ndim() {
        return fmt::Display::fmt(&s.get(index), f);
    }
    let n = s.shape[index.len()];
    let inner = index.len() + 1 == s.ndim();
    write!(f, "[")?;
    for i in (0..n).filter(|&i| n <= 2 * EDGE || i < EDGE || i >= n - EDGE) {
        if i > 0 {
            if inner { write!(f, ", ")? } else { write!(f, ",\n{}", " ".repeat(indent + index.len() + 1))? }
        }
        if n > 2 * EDGE && i == n - EDGE {
            if inner { write!(f, "..., ")? } else { write!(f, "...,\n{}", " ".repeat(indent + index.len() + 1))? }
        }
        index.push(i);
        nested(f, s, index, indent)?;
        index.pop();
    }
    write!(f, "]")
}

impl fmt::Debug for Tensor {
    /// The level tree: each level with its axis and arrays, then the values and the fill.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Tensor {}", self.summary())?;
        match &self.storage {
            Storage::Strided(s) => {
                write!(f, "  strided: strides {:?}, offset {}, {} bytes", s.strides, s.offset, s.buffer.len())
            }
            Storage::Sparse(s) => {
                let mut dims = s.pattern.dims.iter();
                for (l, (level, first)) in s.pattern.levels.iter().zip(s.pattern.first_dims()).enumerate() {
                    let axes: Vec<String> =
                        dims.by_ref().take(level.kind().rank()).map(|d| name(d.axis, d.part)).collect();
                    let pad = "  ".repeat(l + 1);
                    write!(f, "{pad}{} {}", level.kind(), axes.join(", "))?;
                    for (name, array) in level.named_arrays(first) {
                        write!(f, "; {name}: {} x u{}", array.len(), if array.is_wide() { 64 } else { 32 })?;
                    }
                    if !level.is_ordered() {
                        write!(f, "; unordered")?;
                    }
                    if !level.is_unique() {
                        write!(f, "; duplicates")?;
                    }
                    writeln!(f)?;
                }
                let axes: Vec<String> = dims.map(|d| name(d.axis, d.part)).collect();
                let iso = if s.values.strides[0] == 0 && s.values.shape[0] > 1 { ", iso" } else { "" };
                write!(f, "  values {:?} {}{iso}", s.values.shape, s.dtype())?;
                if !axes.is_empty() {
                    write!(f, " over {}", axes.join(", "))?;
                }
                match &s.fill {
                    Fill::Array(values) => write!(f, "\n  fill array {:?}", values.shape()),
                    fill => write!(f, "\n  fill {fill}"),
                }
            }
        }
    }
}

fn name(axis: usize, part: Part) -> String {
    match part {
        Part::Whole => format!("axis {axis}"),
        Part::Div(b) => format!("axis {axis} / {b}"),
        Part::Mod(b) => format!("axis {axis} % {b}"),
    }
}

#[cfg(test)]
mod tests {
    use crate::{Layout, Tensor};

    #[test]
    fn precision_is_that_of_the_elements() {
        let x = Tensor::from_vec([2, 2], vec![1234.5, 0.25, -7.0, 0.0]).unwrap();
        let dense = "tensor([[1234.50, 0.25],\n        [-7.00, 0.00]], shape=[2, 2], dtype=float64)";
        assert_eq!(format!("{x:.2}"), dense);
        let sparse = x.to_layout(Layout::Coo).unwrap();
        let text = format!("{sparse:8.1}");
        assert!(text.contains("fill=     0.0"), "{text}");
        assert!(text.contains("\n  [0, 0]   1234.5\n"), "{text}");
    }
}
