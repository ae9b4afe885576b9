//! Coordinate tuples packed into sortable keys.
//!
//! Each coordinate takes just enough bits of a 64-bit word, the first dimension the highest bits; tuples
//! that need more than 64 bits take several words, so that shapes of any size have keys.

use super::index::Index;
use crate::simd::{Loop, vectorised};

/// Where one coordinate stands in a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Index of the word.
    pub word: usize,
    /// Lowest bit.
    pub shift: u32,
    /// Number of bits; 0 for a dimension of size 0 or 1.
    pub bits: u32,
}

impl Field {
    /// The coordinate in a word.
    #[inline(always)]
    pub fn of(self, word: u64) -> u64 {
        if self.bits == 0 {
            return 0;
        }
        (word >> self.shift) & (u64::MAX >> (64 - self.bits))
    }

    /// What one step of the coordinate adds to the word.
    pub fn weight(self) -> u64 {
        if self.bits == 0 { 0 } else { 1 << self.shift }
    }
}

/// The fields of a key over dimensions of given sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyLayout {
    /// One field per dimension.
    pub fields: Vec<Field>,
    /// Used bits of each word; at least one word.
    pub word_bits: Vec<u32>,
    /// How many low bits of keys of one word rise already among keys that are alike in the others: a stable sort need not look at
    /// these.
    pub settled: u32,
}

impl KeyLayout {
    /// Packs dimensions of these sizes, first dimension most significant.
    pub fn new(sizes: &[usize]) -> KeyLayout {
        let bits = |size: usize| if size <= 1 { 0 } else { usize::BITS - (size - 1).leading_zeros() };
        let mut words: Vec<Vec<usize>> = vec![Vec::new()];
        let mut used = 0;
        for (d, &size) in sizes.iter().enumerate() {
            if used + bits(size) > 64 {
                words.push(Vec::new());
                used = 0;
            }
            used += bits(size);
            if let Some(word) = words.last_mut() {
                word.push(d);
            }
        }
        let mut fields = vec![Field { word: 0, shift: 0, bits: 0 }; sizes.len()];
        let mut word_bits = Vec::with_capacity(words.len());
        for (word, dims) in words.iter().enumerate() {
            let mut shift = 0;
            for &d in dims.iter().rev() {
                fields[d] = Field { word, shift, bits: bits(sizes[d]) };
                shift += bits(sizes[d]);
            }
            word_bits.push(shift);
        }
        KeyLayout { fields, word_bits, settled: 0 }
    }
}

/// Reads one coordinate out of every key.
pub fn decode<I: Index>(words: &[u64], field: Field, out: &mut [I]) {
    for (o, &w) in out.iter_mut().zip(words) {
        *o = I::new(field.of(w) as usize);
    }
}

/// Adds a multiple of each index, wrapping: a term of a linear form over coordinates, keys above all.
pub fn add_scaled<I: Index>(indices: &[I], weight: u64, out: &mut [u64]) {
    vectorised(AddScaled { indices, weight, out });
}

struct AddScaled<'a, I> {
    indices: &'a [I],
    weight: u64,
    out: &'a mut [u64],
}

impl<I: Index> Loop for AddScaled<'_, I> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let pairs = self.out.iter_mut().zip(self.indices);
        match self.weight {
            0 => {}
            // Fields of keys have such weights: numbers of 64 bits are multiplied in many steps.
            weight if weight.is_power_of_two() => {
                let shift = weight.trailing_zeros();
                pairs.for_each(|(o, &i)| *o = o.wrapping_add((i.get() as u64) << shift));
            }
            weight => pairs.for_each(|(o, &i)| *o = o.wrapping_add(weight.wrapping_mul(i.get() as u64))),
        }
    }
}

/// How a sequence of keys is ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Every key is above the one before.
    Strict,
    /// Keys repeat but never fall.
    Repeats,
    /// Some key is below the one before.
    Unsorted,
}

/// Classifies keys of one or more words (`words[w][i]`, first word most significant).
pub fn order_of(words: &[Vec<u64>]) -> Order {
    let n = words.first().map_or(0, Vec::len);
    if let [only] = words {
        let (mut equal, mut falls) = (false, false);
        for pair in only.windows(2) {
            equal |= pair[0] == pair[1];
            falls |= pair[0] > pair[1];
        }
        return if falls {
            Order::Unsorted
        } else if equal {
            Order::Repeats
        } else {
            Order::Strict
        };
    }
    let mut order = Order::Strict;
    for i in 1..n {
        let a = words.iter().map(|w| w[i - 1]);
        let b = words.iter().map(|w| w[i]);
        match a.cmp(b) {
            std::cmp::Ordering::Less => {}
            std::cmp::Ordering::Equal => order = Order::Repeats,
            std::cmp::Ordering::Greater => return Order::Unsorted,
        }
    }
    order
}
