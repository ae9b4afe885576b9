//! The machine that reads pickles, without the part that runs code: what a pickle may call is a list of functions that
//! put tensors together ([`super::rebuild`]), and each is carried out here, on numbers and names alone.
//!
//! The opcodes are those of protocols 2 to 5 that PyTorch's files use
//! (<https://github.com/python/cpython/blob/main/Lib/pickletools.py>); another one is an error.

use std::collections::HashMap;

use super::rebuild::{self, Global};
use crate::io::fault::{Res, bad};

/// A value on the stack. Larger ones are in [`Pickle::objects`], for several may refer to one that still changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Object(usize),
}

/// Where elements are: a member of the archive.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Storage {
    /// The type's name: `FloatStorage`.
    pub(super) kind: String,
    pub(super) key: String,
    pub(super) len: u64,
}

/// A strided tensor over a storage.
#[derive(Clone, Debug)]
pub(super) struct View {
    pub(super) storage: Storage,
    /// Its element type, if that is not the storage's.
    pub(super) dtype: Option<String>,
    pub(super) offset: u64,
    pub(super) shape: Vec<u64>,
    pub(super) strides: Vec<u64>,
}

/// A tensor of a checkpoint.
#[derive(Clone, Debug)]
pub(super) enum Described {
    Strided(View),
    /// COO: coordinates and values.
    Coordinates {
        indices: View,
        values: View,
        shape: Vec<u64>,
    },
    /// CSR, CSC and with blocks: pointers, indices, values.
    Compressed {
        by_rows: bool,
        arrays: Box<[View; 3]>,
        shape: Vec<u64>,
    },
    /// One that tensors here cannot hold, and why.
    Unreadable(String),
}

#[derive(Clone, Debug)]
pub(super) enum Object {
    Text(String),
    List(Vec<Value>),
    Tuple(Vec<Value>),
    Dict(Vec<(Value, Value)>),
    Global(Global),
    Storage(Storage),
    Tensor(Box<Described>),
    /// The name of a layout.
    Layout(String),
    /// Something that says nothing about tensors: a set, a device, bytes.
    Other,
}

/// What a pickle holds.
pub(super) struct Pickle {
    pub(super) objects: Vec<Object>,
    pub(super) top: Value,
}

impl Pickle {
    /// Reads a pickle.
    pub(super) fn read(bytes: &[u8]) -> Res<Pickle> {
        let mut machine =
            Machine { rest: bytes, stack: Vec::new(), marks: Vec::new(), memo: HashMap::new(), objects: Vec::new() };
        let top = machine.run()?;
        Ok(Pickle { objects: machine.objects, top })
    }
}

pub(super) struct Machine<'a> {
    rest: &'a [u8],
    stack: Vec<Value>,
    marks: Vec<usize>,
    memo: HashMap<u32, Value>,
    pub(super) objects: Vec<Object>,
}

impl<'a> Machine<'a> {
    fn run(&mut self) -> Res<Value> {
        loop {
            let op = self.number::<1>()?[0];
            match op {
                b'.' => return self.pop(),
                0x80 => match self.number::<1>()?[0] {
                    2..=5 => {}
                    other => return bad(format_args!("the pickle has protocol {other}; 2 to 5 are read")),
                },
                0x95 => drop(self.number::<8>()?), // a frame, for readers of streams
                b'(' => self.marks.push(self.stack.len()),
                b'0' => drop(self.pop()?),
                b'1' => drop(self.since_mark()?),
                b'2' => {
                    let top = self.top()?;
                    self.stack.push(top);
                }
                b'N' => self.stack.push(Value::None),
                0x88 => self.stack.push(Value::Bool(true)),
                0x89 => self.stack.push(Value::Bool(false)),
                b'J' => {
                    let value = i32::from_le_bytes(self.number()?);
                    self.stack.push(Value::Int(value.into()));
                }
                b'K' => {
                    let value = self.number::<1>()?[0];
                    self.stack.push(Value::Int(value.into()));
                }
                b'M' => {
                    let value = u16::from_le_bytes(self.number()?);
                    self.stack.push(Value::Int(value.into()));
                }
                0x8a | 0x8b => self.long(op)?,
                b'G' => {
                    let value = f64::from_be_bytes(self.number()?);
                    self.stack.push(Value::Float(value));
                }
                b'X' | b'T' => {
                    let len = u32::from_le_bytes(self.number()?).into();
                    self.text(len)?;
                }
                0x8c | b'U' => {
                    let len = self.number::<1>()?[0].into();
                    self.text(len)?;
                }
                0x8d => {
                    let len = u64::from_le_bytes(self.number()?);
                    self.text(len)?;
                }
                b'B' | b'C' | 0x8e | 0x96 => {
                    let len = match op {
                        b'B' => u32::from_le_bytes(self.number()?).into(),
                        b'C' => self.number::<1>()?[0].into(),
                        _ => u64::from_le_bytes(self.number()?),
                    };
                    self.take(len)?;
                    self.push(Object::Other);
                }
                b']' => self.push(Object::List(Vec::new())),
                b'}' => self.push(Object::Dict(Vec::new())),
                b')' => self.push(Object::Tuple(Vec::new())),
                0x8f => self.push(Object::Other),
                b'a' => {
                    let value = self.pop()?;
                    self.extend(vec![value])?;
                }
                b'e' | 0x90 => {
                    let values = self.since_mark()?;
                    self.extend(values)?;
                }
                b'l' => {
                    let values = self.since_mark()?;
                    self.push(Object::List(values));
                }
                b't' => {
                    let values = self.since_mark()?;
                    self.push(Object::Tuple(values));
                }
                0x85..=0x87 => {
                    let from = self.stack.len().checked_sub(usize::from(op - 0x84)).filter(|&at| at >= self.floor());
                    let Some(from) = from else { return underflow() };
                    let values = self.stack.split_off(from);
                    self.push(Object::Tuple(values));
                }
                b'd' => {
                    let pairs = pairs(self.since_mark()?)?;
                    self.push(Object::Dict(pairs));
                }
                b's' => {
                    let (value, key) = (self.pop()?, self.pop()?);
                    self.set(vec![(key, value)])?;
                }
                b'u' => {
                    let pairs = pairs(self.since_mark()?)?;
                    self.set(pairs)?;
                }
                0x91 => {
                    self.since_mark()?;
                    self.push(Object::Other);
                }
                b'c' => {
                    let (module, name) = (self.line()?, self.line()?);
                    self.push(Object::Global(rebuild::global(&module, &name)?));
                }
                0x93 => {
                    let (name, module) = (self.pop()?, self.pop()?);
                    let global = match (self.as_text(module), self.as_text(name)) {
                        (Some(module), Some(name)) => rebuild::global(module, name)?,
                        _ => return bad("a pickled name that is no text"),
                    };
                    self.push(Object::Global(global));
                }
                b'R' | 0x81 => {
                    let (arguments, function) = (self.pop()?, self.pop()?);
                    let value = rebuild::call(self, function, arguments)?;
                    self.stack.push(value);
                }
                // State of a dictionary (the versions of modules) and of parameters: attributes, which are no tensors.
                b'b' => {
                    self.pop()?;
                    let target = self.top()?;
                    let takes = |o: &Object| matches!(o, Object::Dict(_) | Object::Tensor(_) | Object::Other);
                    if !self.object(target).is_some_and(takes) {
                        return bad("the pickle sets attributes of something that has none");
                    }
                }
                b'Q' => {
                    let id = self.pop()?;
                    let storage = rebuild::storage(self, id)?;
                    self.push(Object::Storage(storage));
                }
                b'q' => {
                    let at = self.number::<1>()?[0].into();
                    let top = self.top()?;
                    self.memo.insert(at, top);
                }
                b'r' => {
                    let at = u32::from_le_bytes(self.number()?);
                    let top = self.top()?;
                    self.memo.insert(at, top);
                }
                0x94 => {
                    let top = self.top()?;
                    self.memo.insert(self.memo.len() as u32, top);
                }
                b'h' => {
                    let at = self.number::<1>()?[0].into();
                    self.recall(at)?;
                }
                b'j' => {
                    let at = u32::from_le_bytes(self.number()?);
                    self.recall(at)?;
                }
                other => {
                    return bad(format_args!(
                        "the pickle uses opcode 0x{other:02x}, which files of tensors do not need"
                    ));
                }
            }
        }
    }

    pub(super) fn push(&mut self, object: Object) {
        let value = self.made(object);
        self.stack.push(value);
    }

    /// A value that refers to a new object.
    pub(super) fn made(&mut self, object: Object) -> Value {
        self.objects.push(object);
        Value::Object(self.objects.len() - 1)
    }

    pub(super) fn object(&self, value: Value) -> Option<&Object> {
        if let Value::Object(at) = value { self.objects.get(at) } else { None }
    }

    pub(super) fn as_text(&self, value: Value) -> Option<&str> {
        if let Some(Object::Text(text)) = self.object(value) { Some(text) } else { None }
    }

    /// The values of a tuple or a list.
    pub(super) fn as_items(&self, value: Value) -> Option<&[Value]> {
        match self.object(value) {
            Some(Object::Tuple(items) | Object::List(items)) => Some(items),
            _ => None,
        }
    }

    /// Values below the last mark are not within reach.
    fn floor(&self) -> usize {
        self.marks.last().copied().unwrap_or(0)
    }

    fn pop(&mut self) -> Res<Value> {
        if self.stack.len() <= self.floor() {
            return underflow();
        }
        self.stack.pop().map_or_else(underflow, Ok)
    }

    fn top(&self) -> Res<Value> {
        if self.stack.len() <= self.floor() {
            return underflow();
        }
        self.stack.last().copied().map_or_else(underflow, Ok)
    }

    fn since_mark(&mut self) -> Res<Vec<Value>> {
        match self.marks.pop() {
            Some(mark) => Ok(self.stack.split_off(mark)),
            None => underflow(),
        }
    }

    fn recall(&mut self, at: u32) -> Res<()> {
        let Some(&value) = self.memo.get(&at) else {
            return bad(format_args!("the pickle refers to value {at}, which it never noted"));
        };
        self.stack.push(value);
        Ok(())
    }

    /// Adds to the list on top; a set keeps nothing.
    fn extend(&mut self, values: Vec<Value>) -> Res<()> {
        let target = self.top()?;
        let Value::Object(at) = target else { return bad("the pickle appends to what is no list") };
        match self.objects.get_mut(at) {
            Some(Object::List(list)) => list.extend(values),
            Some(Object::Other) => {}
            _ => return bad("the pickle appends to what is no list"),
        }
        Ok(())
    }

    fn set(&mut self, new: Vec<(Value, Value)>) -> Res<()> {
        let target = self.top()?;
        let Value::Object(at) = target else { return bad("the pickle sets items of what is no dictionary") };
        match self.objects.get_mut(at) {
            Some(Object::Dict(pairs)) => pairs.extend(new),
            _ => return bad("the pickle sets items of what is no dictionary"),
        }
        Ok(())
    }

    fn take(&mut self, len: u64) -> Res<&'a [u8]> {
        let len = usize::try_from(len).ok().filter(|&len| len <= self.rest.len());
        let Some(len) = len else { return bad("the pickle is cut off") };
        let (taken, rest) = self.rest.split_at(len);
        self.rest = rest;
        Ok(taken)
    }

    fn number<const N: usize>(&mut self) -> Res<[u8; N]> {
        let bytes = self.take(N as u64)?;
        bytes.try_into().or_else(|_| bad("the pickle is cut off"))
    }

    fn text(&mut self, len: u64) -> Res<()> {
        let Ok(text) = std::str::from_utf8(self.take(len)?) else { return bad("a text of the pickle is not UTF-8") };
        self.push(Object::Text(text.to_owned()));
        Ok(())
    }

    /// Text up to the end of the line.
    fn line(&mut self) -> Res<String> {
        let Some(end) = self.rest.iter().position(|&b| b == b'\n') else { return bad("the pickle is cut off") };
        let line = self.take(end as u64)?;
        self.take(1)?;
        std::str::from_utf8(line).map(str::to_owned).or_else(|_| bad("a name of the pickle is not UTF-8"))
    }

    /// An integer of any length; one that 64 bits do not hold says nothing about tensors.
    fn long(&mut self, op: u8) -> Res<()> {
        let len = if op == 0x8a {
            self.number::<1>()?[0].into()
        } else {
            u64::try_from(i32::from_le_bytes(self.number()?)).or_else(|_| bad("an integer of negative length"))?
        };
        let bytes = self.take(len)?;
        if len > 8 {
            self.push(Object::Other);
            return Ok(());
        }
        let negative = bytes.last().is_some_and(|b| b & 0x80 != 0);
        let mut whole = [if negative { 0xff } else { 0 }; 8];
        whole[..bytes.len()].copy_from_slice(bytes);
        self.stack.push(Value::Int(i64::from_le_bytes(whole)));
        Ok(())
    }
}

fn underflow<T>() -> Res<T> {
    bad("the pickle takes values that it never gave")
}

fn pairs(values: Vec<Value>) -> Res<Vec<(Value, Value)>> {
    if !values.len().is_multiple_of(2) {
        return bad("a dictionary of the pickle has a key without a value");
    }
    Ok(values.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect())
}
