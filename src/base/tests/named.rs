use super::*;

#[test]
fn names_come_in_order_and_values_follow_them() {
    let mut named = Named::new();
    for (at, name) in ["m", "b", "z", "a"].into_iter().enumerate() {
        assert_eq!(named.insert(name, at), None);
    }
    assert_eq!((named.insert("b", 7), named.remove("z"), named.remove("z")), (Some(1), Some(2), None));
    assert_eq!((named.get("b"), named.get("z"), named.contains("z"), named.len()), (Some(&7), None, false, 3));
    assert!(named.iter().eq([("a", &3), ("b", &7), ("m", &0)]));
    assert_eq!(named.insert("z", 5), None);
    *named.or_default("c") += 1;
    assert!(named.names().eq(["a", "b", "c", "m", "z"]));

    let mut other = Named::new();
    for (name, value) in [("z", 5), ("c", 1), ("m", 0), ("b", 7), ("a", 3)] {
        other.insert(name, value);
    }
    assert_eq!(named, other);
    other.clear();
    assert!(other.len() == 0 && named != other);
    let all: Vec<(String, usize)> = named.into_iter().collect();
    assert_eq!(all.len(), 5);
    assert_eq!(all[4], ("z".to_owned(), 5));
}
