//! Short lists that take no allocation: shapes, strides, the arrays of small patterns.

use std::fmt;
use std::ops::{Deref, DerefMut};

/// A list that lies in place while it has at most `N` entries, and else in a vector.
#[derive(Clone)]
pub(crate) enum Few<T, const N: usize> {
    /// So many of the entries.
    Here([T; N], usize),
    There(Vec<T>),
}

impl<T: Copy + Default, const N: usize> Few<T, N> {
    /// `n` times the same.
    pub(crate) fn repeat(value: T, n: usize) -> Few<T, N> {
        if n <= N { Few::Here([value; N], n) } else { Few::There(vec![value; n]) }
    }

    /// The entries at some places.
    pub(crate) fn at(&self, places: &[usize]) -> Few<T, N> {
        let (from, mut picked) = (&self[..], Few::repeat(T::default(), places.len()));
        picked.iter_mut().zip(places).for_each(|(entry, &place)| *entry = from[place]);
        picked
    }

    /// One entry more, at the end.
    pub(crate) fn push(&mut self, value: T) {
        match self {
            Few::Here(entries, len) => match entries.get_mut(*len) {
                Some(entry) => {
                    *entry = value;
                    *len += 1;
                }
                None => {
                    let mut all = entries.to_vec();
                    all.push(value);
                    *self = Few::There(all);
                }
            },
            Few::There(all) => all.push(value),
        }
    }

    /// One entry more, before entry `i`.
    pub(crate) fn insert(&mut self, i: usize, value: T) {
        self.push(value);
        self[i..].rotate_right(1);
    }
}

impl<T, const N: usize> AsRef<[T]> for Few<T, N> {
    fn as_ref(&self) -> &[T] {
        self
    }
}

impl<T, const N: usize> Deref for Few<T, N> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            Few::Here(entries, n) => entries.get(..*n).unwrap_or_default(),
            Few::There(all) => all,
        }
    }
}

impl<T, const N: usize> DerefMut for Few<T, N> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Few::Here(entries, n) => entries.get_mut(..*n).unwrap_or_default(),
            Few::There(all) => all,
        }
    }
}

impl<T: Copy + Default, const N: usize> From<Vec<T>> for Few<T, N> {
    fn from(entries: Vec<T>) -> Few<T, N> {
        if entries.len() <= N { Few::from(&entries[..]) } else { Few::There(entries) }
    }
}

impl<T: Copy + Default, const N: usize> From<&[T]> for Few<T, N> {
    fn from(entries: &[T]) -> Few<T, N> {
        let mut here = [T::default(); N];
        match here.get_mut(..entries.len()) {
            Some(place) => {
                place.copy_from_slice(entries);
                Few::Here(here, entries.len())
            }
            None => Few::There(entries.to_vec()),
        }
    }
}

impl<T: Copy + Default, const N: usize> FromIterator<T> for Few<T, N> {
    fn from_iter<I: IntoIterator<Item = T>>(entries: I) -> Few<T, N> {
        let mut out = Few::Here([T::default(); N], 0);
        entries.into_iter().for_each(|entry| out.push(entry));
        out
    }
}

impl<'a, T, const N: usize> IntoIterator for &'a Few<T, N> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T: PartialEq, const N: usize> PartialEq for Few<T, N> {
    fn eq(&self, other: &Few<T, N>) -> bool {
        **self == **other
    }
}

impl<T: PartialEq, const N: usize> PartialEq<[T]> for Few<T, N> {
    fn eq(&self, other: &[T]) -> bool {
        **self == *other
    }
}

impl<T: PartialEq, const N: usize> PartialEq<&[T]> for Few<T, N> {
    fn eq(&self, other: &&[T]) -> bool {
        **self == **other
    }
}

impl<T: PartialEq, const N: usize> PartialEq<Few<T, N>> for Vec<T> {
    fn eq(&self, other: &Few<T, N>) -> bool {
        **self == **other
    }
}

impl<T: PartialEq, const N: usize, const M: usize> PartialEq<[T; M]> for Few<T, N> {
    fn eq(&self, other: &[T; M]) -> bool {
        **self == *other
    }
}

impl<T: PartialEq, const N: usize> PartialEq<Vec<T>> for Few<T, N> {
    fn eq(&self, other: &Vec<T>) -> bool {
        **self == **other
    }
}

impl<T: fmt::Debug, const N: usize> fmt::Debug for Few<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::Few;

    #[test]
    fn any_length() {
        for n in 0..9 {
            let all: Vec<usize> = (0..n).collect();
            let mut few: Few<usize, 4> = all.iter().copied().collect();
            assert_eq!(few[..], all[..]);
            assert_eq!(Few::<usize, 4>::from(&all[..])[..], all[..]);
            assert_eq!(matches!(few, Few::Here(..)), n <= 4);
            few.iter_mut().for_each(|x| *x += 1);
            few.push(7);
            assert_eq!((few.len(), few[n]), (n + 1, 7));
            assert_eq!(few[..n], (1..=n).collect::<Vec<_>>()[..]);
            assert_eq!(Few::<u8, 3>::repeat(9, n)[..], vec![9; n][..]);
            let places: Vec<usize> = (0..n).rev().chain(0..n).collect();
            assert_eq!(few.at(&places)[..], places.iter().map(|&i| few[i]).collect::<Vec<_>>()[..]);
        }
    }
}
