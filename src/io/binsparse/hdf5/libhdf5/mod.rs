//! HDF5 read by libhdf5, which is asked only for what is known to be harmless: nothing that would follow a name out of
//! the file, load a filter from elsewhere, or make memory for elements that are not stored.

pub(super) mod raw;

use crate::base::mapped::Mapped;
use std::path::Path;

use ::hdf5::dataset::Layout as Stored;
use ::hdf5::filters::Filter;
use ::hdf5::{Dataset, File, Group, IndexType, IterationOrder, LinkType, Location, LocationType};

use super::store::{Attribute, DataLayout, ElementKind, Facts, Link, Links, Object, Store};
use crate::io::fault::{Fault, Res, bad};
use crate::io::progress::Tell;
use openwork_ops::DType;

/// What libhdf5 says is wrong.
fn of<T>(result: ::hdf5::Result<T>) -> Res<T> {
    result.map_err(|e| Fault::Bad(format!("libhdf5: {e}")))
}

/// An open file, and the group that was entered last.
pub(super) struct Libhdf5 {
    file: File,
    group: Group,
    links: Links,
}

impl Libhdf5 {
    pub(super) fn open(path: &Path) -> Res<Libhdf5> {
        Libhdf5::of_file(of(File::open(path))?)
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Res<Libhdf5> {
        Libhdf5::of_file(of(raw::open_bytes(bytes))?)
    }

    fn of_file(file: File) -> Res<Libhdf5> {
        let group = of(file.group("/"))?;
        let links = links(&group)?;
        Ok(Libhdf5 { file, group, links })
    }

    fn dataset(&self, name: &str) -> Res<Dataset> {
        of(self.group.dataset(name))
    }
}

fn links(group: &Group) -> Res<Links> {
    let kind = |link| match link {
        LinkType::Hard => Link::Hard,
        LinkType::Soft => Link::Soft,
        LinkType::External => Link::External,
    };
    let found = of(group.links(IndexType::Name, IterationOrder::Native))?;
    let mut links = Links::new();
    for (name, info) in found {
        links.insert(name, kind(info.link_type));
    }
    Ok(links)
}

fn object(group: &Group, name: &str) -> Res<Object> {
    Ok(match of(group.loc_type_by_name(name))? {
        LocationType::Group => Object::Group,
        LocationType::Dataset => Object::Dataset,
        _ => Object::Other,
    })
}

/// An attribute of a group or a dataset, if it has one of that name.
fn attribute(object: &Location, name: &str, most: usize) -> Res<Option<Attribute>> {
    if !of(object.attr_names())?.iter().any(|n| n == name) {
        return Ok(None);
    }
    let attribute = of(object.attr(name))?;
    let shape = of(of(attribute.space())?.extents())?;
    if shape.is_null() {
        return Ok(Some(Attribute::Null));
    }
    let kind = of(raw::kind(&attribute))?;
    Ok(Some(match (kind, attribute.shape().as_slice()) {
        (ElementKind::Text, shape @ ([] | [1])) => {
            Attribute::Text { list: !shape.is_empty(), text: of(raw::text(&attribute, most))? }
        }
        (ElementKind::Number(DType::U8 | DType::I8), [n]) if *n > most => Attribute::Bytes(None),
        (ElementKind::Number(DType::U8 | DType::I8), [_]) => Attribute::Bytes(Some(of(attribute.read_raw::<u8>())?)),
        (ElementKind::Number(dtype), [n @ 0..=64]) if dtype.is_int() => {
            // What does not fit 64 bits with a sign is no size of anything.
            let all = of(attribute.read_raw::<i64>())?;
            let all: Option<Vec<u64>> = all.into_iter().map(|i| u64::try_from(i).ok()).collect();
            all.filter(|all| all.len() == *n).map_or(Attribute::Other, Attribute::Integers)
        }
        _ => Attribute::Other,
    }))
}

impl Store for Libhdf5 {
    fn enter(&mut self, name: &str) -> Res<()> {
        let mut group = of(self.file.group("/"))?;
        let mut links = links(&group)?;
        for part in name.split('/').filter(|p| !p.is_empty()) {
            match links.get(part) {
                Some(Link::Hard) if object(&group, part)? == Object::Group => {}
                Some(Link::Hard) => return bad(format_args!("{part:?} in the name {name:?} is not a group")),
                Some(_) => return bad(format_args!("{part:?} in the name {name:?} is a link that is not followed")),
                None => return bad(format_args!("there is no group {name:?}")),
            }
            group = of(group.group(part))?;
            links = self::links(&group)?;
        }
        (self.group, self.links) = (group, links);
        Ok(())
    }

    fn identity(&self) -> Res<String> {
        Ok(format!("libhdf5: {:?}", of(self.group.loc_info())?.token))
    }

    fn links(&self) -> Res<Links> {
        Ok(self.links.clone())
    }

    fn link(&mut self, name: &str) -> Res<Option<Link>> {
        Ok(self.links.get(name).copied())
    }

    fn object(&mut self, name: &str) -> Res<Object> {
        object(&self.group, name)
    }

    fn attributes(&mut self) -> Res<Vec<String>> {
        of(self.group.attr_names())
    }

    fn attribute(&mut self, name: &str, most: usize) -> Res<Option<Attribute>> {
        attribute(&self.group, name, most)
    }

    fn attribute_of(&mut self, object: &str, name: &str, most: usize) -> Res<Option<Attribute>> {
        attribute(&*of(self.group.dataset(object))?, name, most)
    }

    fn facts(&mut self, name: &str) -> Res<Facts> {
        let data = self.dataset(name)?;
        let kind = of(raw::kind(&data))?;
        let item = of(data.dtype())?.size() as u64;
        let space = of(data.space())?;
        let shape = (!space.is_null()).then(|| space.shape().mapped(|&n| n as u64));
        let made = of(data.create_plist())?;
        let layout = match of(made.get_layout())? {
            Stored::Compact => DataLayout::Compact,
            Stored::Contiguous => DataLayout::Contiguous(data.offset()),
            Stored::Chunked => {
                let chunk = of(made.get_chunk())?.unwrap_or_default();
                DataLayout::Chunked(chunk.iter().fold(item, |n, &c| n.saturating_mul(c as u64)))
            }
            _ => DataLayout::Virtual,
        };
        let external = !of(made.get_external())?.is_empty();
        let filters = of(made.get_filters())?.mapped(|f: &Filter| i64::from(f.id()));
        Ok(Facts { kind, item, shape, layout, external, filters, stored: data.storage_size() })
    }

    fn read(&mut self, name: &str, start: u64, out: &mut [u8], _: &Tell<'_>) -> Res<()> {
        let data = self.dataset(name)?;
        // Others libhdf5 undoes without a look at what bounds them (scaleoffset), or loads from elsewhere.
        let filters = of(of(data.create_plist())?.get_filters())?;
        if let Some(other) = filters.iter().map(Filter::id).find(|id| !(1..=3).contains(id)) {
            return bad(format_args!("`{name}` went through filter {other}, which libhdf5 is not asked to undo"));
        }
        let kind = of(raw::kind(&data))?;
        of(raw::read(&data, kind, start, out))
    }

    fn text(&mut self, name: &str, most: usize) -> Res<Option<Vec<u8>>> {
        of(raw::text(&*self.dataset(name)?, most))
    }
}
