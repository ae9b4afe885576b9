//! Equations as text, and what they say of operands: which axes are one index.

use crate::base::error::{self, Error, Result};
use crate::base::mapped::Mapped;

/// What stands in the list of an operand or of the result, and at which character, from 1 on.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Item {
    Index(char),
    Ellipsis,
}

type List = Vec<(Item, usize)>;

/// An equation, as it is written.
pub(super) struct Equation<'a> {
    text: &'a str,
    operands: Vec<List>,
    /// The character at which each list begins.
    starts: Vec<usize>,
    result: Option<List>,
}

/// Indices by number: what an equation means for operands of given shapes.
#[derive(Clone, Debug)]
pub(super) struct Network {
    /// The letter of each; axes that an ellipsis stands for have `₀`, `₁`, ….
    pub(super) names: Vec<char>,
    pub(super) sizes: Vec<usize>,
    /// The index of each axis.
    pub(super) operands: Vec<Vec<usize>>,
    pub(super) result: Vec<usize>,
}

/// Indices that may differ: sets of them are bits of a word.
const MOST: usize = 128;

/// What is wrong at a character of the equation.
fn mistake(text: &str, at: usize, why: impl AsRef<str>) -> Error {
    error::invalid("equation", pointed(text, at, why.as_ref()))
}

fn pointed(text: &str, at: usize, why: &str) -> String {
    format!("at character {at}: {why}\n  {text}\n  {:>at$}", '^')
}

impl<'a> Equation<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Equation<'a>> {
        let (mut operands, mut starts) = (vec![List::new()], vec![1]);
        let mut result: Option<List> = None;
        let mut rest = text.chars().enumerate().map(|(i, c)| (i + 1, c)).peekable();
        while let Some((at, c)) = rest.next() {
            let mut next_is = |wanted| rest.next_if(|(_, c)| *c == wanted).is_some();
            let item = match c {
                _ if c.is_whitespace() => continue,
                '-' if next_is('>') => {
                    if result.replace(List::new()).is_some() {
                        return Err(mistake(text, at, "`->` is there twice: an equation has one result"));
                    }
                    continue;
                }
                '-' => return Err(mistake(text, at, "`-` is no index; the result comes after `->`")),
                ',' if result.is_some() => {
                    return Err(mistake(text, at, "a comma parts operands, and there is one result after `->`"));
                }
                ',' => {
                    operands.push(List::new());
                    starts.push(at + 1);
                    continue;
                }
                '.' if next_is('.') && next_is('.') => Item::Ellipsis,
                '.' => return Err(mistake(text, at, "an ellipsis is three dots, `...`")),
                _ if c.is_alphabetic() => Item::Index(c),
                _ => {
                    let why = format!("`{}` is no index; each is one letter", c.escape_default());
                    return Err(mistake(text, at, why));
                }
            };
            let list = match &mut result {
                Some(list) => list,
                None => operands.last_mut().ok_or_else(|| mistake(text, at, "no operand"))?,
            };
            if item == Item::Ellipsis && list.iter().any(|(other, _)| *other == item) {
                return Err(mistake(text, at, "an ellipsis is already there; a list has at most one"));
            }
            list.push((item, at));
        }
        let equation = Equation { text, operands, starts, result };
        equation.check_result()?;
        Ok(equation)
    }

    fn check_result(&self) -> Result<()> {
        let result = self.result.as_deref().unwrap_or_default();
        for (i, &(item, at)) in result.iter().enumerate() {
            let Item::Index(name) = item else { continue };
            if result[..i].iter().any(|(other, _)| *other == item) {
                return Err(mistake(self.text, at, format!("`{name}` is in the result twice")));
            }
            if !self.operands.iter().flatten().any(|(other, _)| *other == item) {
                return Err(mistake(self.text, at, format!("`{name}` of the result is in no operand")));
            }
        }
        Ok(())
    }

    /// The equation for operands of these shapes.
    pub(super) fn resolve(&self, shapes: &[&[usize]]) -> Result<Network> {
        if shapes.len() != self.operands.len() {
            let (text, n) = (self.text, self.operands.len());
            let why = format!("they are {} in number, and `{text}` has lists of {n}", shapes.len());
            return Err(error::invalid("operands", why));
        }
        let mut network = Network { names: Vec::new(), sizes: Vec::new(), operands: Vec::new(), result: Vec::new() };
        let hidden = self.hidden(shapes)?;
        for (k, &size) in hidden.iter().enumerate() {
            network.names.push(char::from_u32('₀' as u32 + k as u32 % 10).unwrap_or('₀'));
            network.sizes.push(size);
        }
        for (number, (list, shape)) in self.operands.iter().zip(shapes).enumerate() {
            let own = self.axes_of(number, list, shape, &hidden, &mut network, shapes)?;
            network.operands.push(own);
        }
        if network.names.len() > MOST {
            let why = format!("{} different indices; at most {MOST} are allowed", network.names.len());
            return Err(error::invalid("equation", why));
        }
        network.result = self.result_of(&network, hidden.len());
        Ok(network)
    }

    /// Sizes of the axes for which ellipses stand, those of all operands broadcast.
    fn hidden(&self, shapes: &[&[usize]]) -> Result<Vec<usize>> {
        let mut hidden: Vec<usize> = Vec::new();
        for (number, (list, shape)) in self.operands.iter().zip(shapes).enumerate() {
            let Some(place) = list.iter().position(|(item, _)| *item == Item::Ellipsis) else { continue };
            let Some(count) = (shape.len() + 1).checked_sub(list.len()) else { continue };
            let at = list[place].1;
            let lead = count.saturating_sub(hidden.len());
            hidden.splice(0..0, vec![1; lead]);
            let from = hidden.len() - count;
            for (own, &size) in hidden[from..].iter_mut().zip(&shape[place..place + count]) {
                if *own != size && *own != 1 && size != 1 {
                    let why = format!(
                        "the axes of the ellipsis in operand {number} do not broadcast with those before: sizes {size} and {own}"
                    );
                    return Err(error::shape(shapes, pointed(self.text, at, &why)));
                }
                *own = if *own == 1 { size } else { *own };
            }
        }
        Ok(hidden)
    }

    fn axes_of(
        &self,
        number: usize,
        list: &List,
        shape: &[usize],
        hidden: &[usize],
        network: &mut Network,
        shapes: &[&[usize]],
    ) -> Result<Vec<usize>> {
        let named = list.iter().filter(|(item, _)| *item != Item::Ellipsis).count();
        let has_ellipsis = named < list.len();
        if shape.len() < named || (shape.len() > named && !has_ellipsis) {
            let at = list.first().map_or(self.starts[number], |(_, at)| *at);
            let written = if named == 1 { "1 index is".to_string() } else { format!("{named} indices are") };
            let why = format!("operand {number} has {} axes, and {written} written", shape.len());
            return Err(error::shape(shapes, pointed(self.text, at, &why)));
        }
        let mut own = Vec::with_capacity(shape.len());
        for &(item, at) in list {
            let Item::Index(name) = item else {
                let count = shape.len() - named;
                own.extend(hidden.len() - count..hidden.len());
                continue;
            };
            let size = shape[own.len()];
            let known = (hidden.len()..network.names.len()).find(|&i| network.names[i] == name);
            let index = match known {
                Some(index) if network.sizes[index] != size => {
                    let why = format!("`{name}` has {size} elements here, and {} before", network.sizes[index]);
                    return Err(error::shape(shapes, pointed(self.text, at, &why)));
                }
                Some(index) => index,
                None => {
                    network.names.push(name);
                    network.sizes.push(size);
                    network.names.len() - 1
                }
            };
            own.push(index);
        }
        Ok(own)
    }

    /// Indices of the result: those that are written, or axes of ellipses and then all that occur once, by their letters.
    fn result_of(&self, network: &Network, hidden: usize) -> Vec<usize> {
        let index_of = |name: char| (hidden..network.names.len()).find(|&i| network.names[i] == name);
        match &self.result {
            Some(list) => {
                let mut result = Vec::new();
                for (item, _) in list {
                    match item {
                        Item::Ellipsis => result.extend(0..hidden),
                        Item::Index(name) => result.extend(index_of(*name)),
                    }
                }
                result
            }
            None => {
                let times = |index: usize| {
                    self.operands
                        .iter()
                        .flatten()
                        .filter(|(item, _)| *item == Item::Index(network.names[index]))
                        .count()
                };
                let mut once = Vec::new();
                for index in hidden..network.names.len() {
                    if times(index) == 1 {
                        once.push(index);
                    }
                }
                crate::base::mapped::sort_short(&mut once, |&index| network.names[index]);
                let mut result: Vec<usize> = (0..hidden).collect();
                result.extend(once);
                result
            }
        }
    }
}

impl Network {
    /// Some indices as they are written.
    pub(super) fn word(&self, indices: &[usize]) -> String {
        indices.mapped(|&i| self.names[i]).into_iter().collect()
    }
}

#[cfg(test)]
#[path = "tests/parse.rs"]
mod tests;
