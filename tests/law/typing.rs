//! The tables of dtypes: the library's and the oracle's are the same.

use openwork::{BinaryOp, ReduceOp, UnaryOp, promote};

use super::bridge::{dtype_of, otype_of};
use super::oracle::{self, OType};
use super::report::Report;

pub fn check(report: &mut Report) {
    names(report);
    for a in OType::ALL {
        for b in OType::ALL {
            let what = || format!("{} {}", a.name(), b.name());
            let (got, want) = (promote(dtype_of(a), dtype_of(b)).map(otype_of), oracle::promote(a, b));
            report.case("promote", &[], what, || equal(got, want));
            for &op in BinaryOp::ALL {
                let common = promote(dtype_of(a), dtype_of(b));
                let got = common.and_then(|t| op.typing(t)).map(|t| otype_of(t.out));
                report.case(op.name(), &[], what, || equal(got, oracle::binary_dtype(op.name(), a, b).ok()));
            }
        }
        for &op in UnaryOp::ALL {
            let got = op.typing(dtype_of(a)).map(|t| otype_of(t.out));
            report.case(op.name(), &[], || a.name().to_string(), || equal(got, oracle::unary_dtype(op.name(), a)));
        }
        for &op in ReduceOp::ALL {
            let got = op.typing(dtype_of(a)).map(|t| otype_of(t.out));
            report.case(op.name(), &[], || a.name().to_string(), || equal(got, oracle::reduce_dtype(op.name(), a)));
        }
    }
}

/// The oracle knows every registered op, and no other.
fn names(report: &mut Report) {
    let registered = |names: Vec<&'static str>, known: &[&'static str]| {
        let (mut a, mut b) = (names, known.to_vec());
        a.sort_unstable();
        b.sort_unstable();
        if a == b { Ok(()) } else { Err(format!("registered {a:?}, the oracle has {b:?}")) }
    };
    let unary = UnaryOp::ALL.iter().map(|op| op.name()).collect();
    let binary = BinaryOp::ALL.iter().map(|op| op.name()).collect();
    let reduce = ReduceOp::ALL.iter().map(|op| op.name()).collect();
    report.case("names", &[], String::new, || registered(unary, &oracle::UNARY));
    report.case("names", &[], String::new, || registered(binary, &oracle::BINARY));
    report.case("names", &[], String::new, || registered(reduce, &oracle::REDUCE));
}

fn equal(got: Option<OType>, want: Option<OType>) -> Result<(), String> {
    if got == want { Ok(()) } else { Err(format!("expected {want:?}, got {got:?}")) }
}
