//! Coordinates chosen and renumbered, segment by segment, by a table of where each goes.

use std::ops::Range;

use super::index::Index;

/// Where coordinates go.
pub struct Places<I> {
    /// The first place of each coordinate; [`Index::NONE`] of one that goes nowhere.
    first: Vec<I>,
    /// After each place, the next one of the same coordinate; nothing if no coordinate has two.
    next: Vec<I>,
    /// A bit for each coordinate: whether it goes anywhere. Smaller than the table by the width of a place.
    chosen: Vec<u64>,
    /// As many bits: whether it goes to several places; nothing if none does.
    several: Vec<u64>,
    /// Whether few coordinates are chosen, so that to ask first pays.
    few: bool,
    /// Whether places rise with their coordinates, and whether they fall while these do.
    rising: bool,
    falling: bool,
    /// How many places there are.
    len: usize,
    /// Whether each coordinate goes to one place.
    is_order: bool,
}

/// Of so many coordinates, one is chosen where few are.
const FEW: usize = 8;

impl<I: Index> Places<I> {
    /// The places of coordinates below `n`: coordinate `list[i]` goes to `i`. Indices of this width hold the length of
    /// the list.
    pub fn new(n: usize, list: &[u64]) -> Places<I> {
        let (mut first, mut chosen) = (vec![I::NONE; n], vec![0u64; n.div_ceil(64)]);
        let (mut next, mut several, mut rising, mut falling) = (Vec::new(), Vec::new(), true, true);
        // From behind, so that the places of a coordinate rise.
        for (i, &c) in list.iter().enumerate().rev() {
            let slot = &mut first[c as usize];
            if *slot != I::NONE {
                next.resize(list.len(), I::NONE);
                next[i] = *slot;
                several.resize(chosen.len(), 0u64);
                several[c as usize / 64] |= 1 << (c % 64);
            }
            *slot = I::new(i);
            chosen[c as usize / 64] |= 1 << (c % 64);
            rising &= list.get(i + 1).is_none_or(|&after| c <= after);
            falling &= list.get(i + 1).is_none_or(|&after| c > after);
        }
        let is_order = list.len() == n && several.is_empty();
        Places { first, next, chosen, several, few: list.len() < n / FEW, rising, falling, len: list.len(), is_order }
    }

    /// Where the places of each segment of coordinates (`pointers` count from `base`) would end if those of the first began at 0,
    /// [`Index::NONE`] if that is no number of this width; and how many there are.
    pub fn count(&self, pointers: &[I], base: usize, indices: &[I], ends: &mut [I]) -> usize {
        let mut total = 0usize;
        if self.is_order {
            for (end, own) in ends.iter_mut().zip(&pointers[1..]) {
                total = own.get() - pointers[0].get();
                *end = I::new(total);
            }
            return total;
        }
        for (end, own) in ends.iter_mut().zip(pointers.windows(2)) {
            if own[0] < own[1] {
                let segment = &indices[own[0].get() - base..own[1].get() - base];
                total += segment.iter().map(|c| usize::from(self.goes(*c))).sum::<usize>();
                if !self.several.is_empty() {
                    // Few do: what is foreseen is right most of the time.
                    let several = segment.iter().filter(|c| is_in(&self.several, **c));
                    total = total.saturating_add(several.map(|c| self.rest(*c).count()).sum());
                }
            }
            *end = I::new(total.min(I::NONE.get()));
        }
        total
    }

    /// The places of the coordinates of each segment, rising, and which coordinate each is of: as many as
    /// [`Places::count`] said. No coordinate repeats within a segment.
    pub fn put(&self, pointers: &[I], base: usize, indices: &[I], places: &mut [I], from: &mut [I]) {
        let (mut at, mut marks) = (0, Marks::new(self.len, places.len()));
        if self.rising {
            // In whatever segment.
            let all = pointers[0].get() - base..pointers[pointers.len() - 1].get() - base;
            self.put_in_order(all, indices, &mut at, places, from);
            return;
        }
        for ends in pointers.windows(2).filter(|ends| ends[0] < ends[1]) {
            let (start, own) = (at, ends[0].get() - base..ends[1].get() - base);
            if self.falling {
                // Each goes to one place, before those of the coordinates below it.
                own.clone().zip(&indices[own]).rev().for_each(|each| self.put_one(each, &mut at, places, from));
                continue;
            }
            self.put_in_order(own, indices, &mut at, places, from);
            marks.sort(&mut places[start..at], &mut from[start..at]);
        }
    }

    /// All places of some coordinates, in the order of these.
    #[inline(always)]
    fn put_in_order(&self, own: Range<usize>, indices: &[I], at: &mut usize, places: &mut [I], from: &mut [I]) {
        for (p, c) in own.clone().zip(&indices[own]) {
            if self.few && !self.goes(*c) {
                continue;
            }
            self.put_one((p, c), at, places, from);
            if !self.several.is_empty() && is_in(&self.several, *c) {
                for place in self.rest(*c) {
                    (places[*at], from[*at]) = (place, I::new(p));
                    *at += 1;
                }
            }
        }
    }

    /// The first place of a coordinate.
    #[inline(always)]
    fn put_one(&self, (p, c): (usize, &I), at: &mut usize, places: &mut [I], from: &mut [I]) {
        // Written in any case, and the next one over it if it goes nowhere: a branch would be a guess.
        let place = self.first[c.get()];
        if *at < places.len() {
            (places[*at], from[*at]) = (place, I::new(p));
        }
        *at += usize::from(place != I::NONE);
    }

    #[inline(always)]
    fn goes(&self, coordinate: I) -> bool {
        is_in(&self.chosen, coordinate)
    }

    /// The places after the first, of a coordinate that has one.
    fn rest(&self, coordinate: I) -> impl Iterator<Item = I> + '_ {
        let after = |at: &I| self.next.get(at.get()).copied().filter(|place| *place != I::NONE);
        std::iter::successors(after(&self.first[coordinate.get()]), after)
    }
}

/// The bit of a coordinate.
#[inline(always)]
fn is_in<I: Index>(bits: &[u64], coordinate: I) -> bool {
    let c = coordinate.get();
    (bits[c / 64] >> (c % 64)) & 1 != 0
}

/// Puts places below a number in order.
struct Marks<I> {
    len: usize,
    /// A bit for each place, and a bit for each 64 of them: whether one of them is marked. All clear between segments; nothing at first.
    places: Vec<u64>,
    groups: Vec<u64>,
    /// What belongs to each place that is marked.
    from: Vec<I>,
    /// Whether a table of all places is not large beside what is to be sorted.
    fits: bool,
    /// Places and what belongs to them, as they are sorted else.
    both: Vec<(I, I)>,
}

impl<I: Index> Marks<I> {
    /// For places below `len`, of which so many are sorted in all.
    fn new(len: usize, sorted: usize) -> Marks<I> {
        let fits = len / 8 <= sorted;
        Marks { len, places: Vec::new(), groups: Vec::new(), from: Vec::new(), fits, both: Vec::new() }
    }

    /// Sorts places, none of which is there twice, and takes what belongs to them along.
    fn sort(&mut self, places: &mut [I], from: &mut [I]) {
        const FEW: usize = 6;
        if places.len() <= FEW {
            for last in 1..places.len() {
                let (place, own) = (places[last], from[last]);
                let mut at = last;
                while at > 0 && place < places[at - 1] {
                    (places[at], from[at]) = (places[at - 1], from[at - 1]);
                    at -= 1;
                }
                (places[at], from[at]) = (place, own);
            }
            return;
        }
        let groups = self.len.div_ceil(64 * 64);
        // To look at more groups would take longer.
        if !self.fits || groups > places.len() {
            self.both.clear();
            self.both.extend(places.iter().copied().zip(from.iter().copied()));
            self.both.sort_unstable();
            for ((place, from), sorted) in places.iter_mut().zip(from).zip(&self.both) {
                (*place, *from) = *sorted;
            }
            return;
        }
        if self.places.is_empty() {
            (self.places, self.groups) = (vec![0; 64 * groups], vec![0; groups]);
            self.from = vec![I::default(); self.len];
        }
        // Where most of them have a place, all are looked at.
        let all = self.len.div_ceil(64) <= places.len();
        for (place, &from) in places.iter().map(|place| place.get()).zip(&*from) {
            self.places[place / 64] |= 1 << (place % 64);
            self.from[place] = from;
            if !all {
                self.groups[place / (64 * 64)] |= 1 << (place / 64 % 64);
            }
        }
        let mut at = 0;
        for (first, group) in (0..).step_by(64).zip(&mut self.groups) {
            for word in Bits(if all { u64::MAX } else { std::mem::take(group) }) {
                for bit in Bits(std::mem::take(&mut self.places[first + word])) {
                    let place = 64 * (first + word) + bit;
                    if at < places.len() {
                        (places[at], from[at]) = (I::new(place), self.from[place]);
                    }
                    at += 1;
                }
            }
        }
    }
}

/// The bits of a word that are set, from the lowest on.
pub(super) struct Bits(pub(super) u64);

impl Iterator for Bits {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let bit = self.0.trailing_zeros() as usize;
        self.0 &= self.0.checked_sub(1)?;
        Some(bit)
    }
}

/// The numbers of the elements, as wide as `like`, that have other bytes; `out` is as many zeros.
pub fn unlike(elements: &[u8], like: &[u8], out: Vec<u32>) -> Vec<u32> {
    fn wide<const W: usize>(elements: &[u8], like: &[u8], out: Vec<u32>) -> Vec<u32> {
        let (elements, like) = (elements.as_chunks::<W>().0, like.as_chunks::<W>().0);
        like.first().map_or_else(Vec::new, |like| which(elements, out, |element| element != like))
    }
    match like.len() {
        1 => wide::<1>(elements, like, out),
        2 => wide::<2>(elements, like, out),
        4 => wide::<4>(elements, like, out),
        8 => wide::<8>(elements, like, out),
        _ => wide::<16>(elements, like, out),
    }
}

/// The numbers of the items that are meant; `out` is as many zeros as there are items.
pub fn which<T>(items: &[T], mut out: Vec<u32>, is_meant: impl Fn(&T) -> bool) -> Vec<u32> {
    let mut n = 0;
    for (i, item) in items.iter().enumerate() {
        // Each is written, and the next one over it if it is not meant: a branch would be a guess.
        out[n] = i as u32;
        n += usize::from(is_meant(item));
    }
    out.truncate(n);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen<I: Index>(pointers: &[usize], indices: &[usize], n: usize, list: &[u64]) -> Vec<Vec<(usize, usize)>> {
        let typed = |values: &[usize]| values.iter().map(|&v| I::new(v)).collect::<Vec<I>>();
        let (pointers, indices) = (typed(pointers), typed(indices));
        let places = Places::<I>::new(n, list);
        let mut ends = vec![I::default(); pointers.len() - 1];
        let total = places.count(&pointers, pointers[0].get(), &indices, &mut ends);
        let (mut to, mut from) = (vec![I::default(); total], vec![I::default(); total]);
        places.put(&pointers, pointers[0].get(), &indices, &mut to, &mut from);
        let mut pairs = to.iter().map(|i| i.get()).zip(from.iter().map(|i| i.get()));
        let begins = [0].into_iter().chain(ends.iter().map(|end| end.get()));
        ends.iter().zip(begins).map(|(end, begin)| pairs.by_ref().take(end.get() - begin).collect()).collect()
    }

    #[test]
    fn each_segment_has_its_chosen_coordinates_in_order() {
        // Pointers of a window: they begin at 3.
        let (pointers, indices) = ([3, 6, 6, 8, 9], [0, 2, 5, 1, 4, 3]);
        let lists: [&[u64]; 9] = [
            &[0, 2, 4],
            &[5, 0, 1],
            &[2, 2, 1, 2],
            &[0, 0, 5, 5],
            &[],
            &[0, 1, 2, 3, 4, 5],
            &[5, 4, 3, 2, 1, 0],
            &[5, 2, 1],
            &[5, 2, 2, 1],
        ];
        for list in lists {
            let expected: Vec<Vec<(usize, usize)>> = pointers
                .windows(2)
                .map(|s| {
                    let own = s[0] - 3..s[1] - 3;
                    let found = |(i, &c): (usize, &u64)| Some((i, own.clone().find(|&p| indices[p] == c as usize)?));
                    list.iter().enumerate().filter_map(found).collect()
                })
                .collect();
            // Of an axis that is as long as these are, or so long that few of it are chosen.
            for n in [6, 300] {
                assert_eq!(chosen::<u32>(&pointers, &indices, n, list), expected, "{list:?}");
                assert_eq!(chosen::<u64>(&pointers, &indices, n, list), expected, "{list:?}");
            }
        }
    }

    #[test]
    fn places_are_put_in_order_however_many_there_are() {
        let mix = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
        // In words and groups of words, of which some or all are looked at, or none.
        for (len, counts) in
            [(1, vec![0, 1]), (70, vec![6, 7, 40, 70]), (5000, vec![7, 300, 79]), (100_000, vec![20, 50])]
        {
            let mut marks = Marks::<u32>::new(len, len);
            for (round, count) in (0..).zip(counts.into_iter().cycle().take(9)) {
                let mut all: Vec<u32> = (0..len as u32).collect();
                all.sort_by_key(|&i| mix(u64::from(i) + round));
                let mut places = all[..count].to_vec();
                let mut from: Vec<u32> = places.iter().map(|place| place ^ 0x55).collect();
                marks.sort(&mut places, &mut from);
                let mut wanted = all[..count].to_vec();
                wanted.sort_unstable();
                assert_eq!(places, wanted);
                assert!(places.iter().zip(&from).all(|(place, from)| place ^ 0x55 == *from));
            }
        }
    }
}
