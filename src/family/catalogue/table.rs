//! Methods that are no entries of the registry.

use super::Entry;

pub(super) const METHODS: &[Entry] = &[];
