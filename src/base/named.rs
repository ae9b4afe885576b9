//! Values by name, whose tree is compiled once for all types of values.

use std::collections::BTreeMap;

/// What a `BTreeMap<String, V>` is, for metadata: its code for another `V` is thousands of lines, so one tree of places
/// in a list serves all. Goes through names in order; finding, adding and removing take O(log n). The list keeps a gap
/// where a value was removed.
#[derive(Clone, Debug)]
pub(crate) struct Named<V> {
    places: BTreeMap<String, usize>,
    values: Vec<Option<V>>,
}

impl<V> Named<V> {
    pub(crate) fn new() -> Named<V> {
        Named { places: BTreeMap::new(), values: Vec::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.places.contains_key(name)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&V> {
        self.values[*self.places.get(name)?].as_ref()
    }

    /// Gives the value that had the name.
    pub(crate) fn insert(&mut self, name: impl Into<String>, value: V) -> Option<V> {
        self.place(name.into()).replace(value)
    }

    /// The value of a name, made if there is none.
    pub(crate) fn or_default(&mut self, name: &str) -> &mut V
    where
        V: Default,
    {
        self.place(name.to_owned()).get_or_insert_with(V::default)
    }

    fn place(&mut self, name: String) -> &mut Option<V> {
        let next = self.values.len();
        let at = *self.places.entry(name).or_insert(next);
        if at == next {
            self.values.push(None);
        }
        &mut self.values[at]
    }

    pub(crate) fn remove(&mut self, name: &str) -> Option<V> {
        self.values[self.places.remove(name)?].take()
    }

    pub(crate) fn clear(&mut self) {
        self.places.clear();
        self.values.clear();
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.places.keys().map(String::as_str)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &V)> {
        self.places.iter().filter_map(|(name, &at)| Some((name.as_str(), self.values[at].as_ref()?)))
    }

    pub(crate) fn into_iter(mut self) -> impl Iterator<Item = (String, V)> {
        self.places.into_iter().filter_map(move |(name, at)| Some((name, self.values[at].take()?)))
    }
}

impl<V> Default for Named<V> {
    fn default() -> Named<V> {
        Named::new()
    }
}

impl<V: PartialEq> PartialEq for Named<V> {
    fn eq(&self, other: &Named<V>) -> bool {
        self.iter().eq(other.iter())
    }
}

#[cfg(test)]
#[path = "tests/named.rs"]
mod tests;
