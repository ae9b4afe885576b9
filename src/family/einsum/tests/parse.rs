use super::Equation;

fn network(text: &str, shapes: &[&[usize]]) -> (Vec<String>, String) {
    let network = Equation::parse(text).unwrap().resolve(shapes).unwrap();
    (network.operands.iter().map(|o| network.word(o)).collect(), network.word(&network.result))
}

#[test]
fn forms() {
    let of = |words: &[&str], result: &str| (words.iter().map(|w| w.to_string()).collect(), result.to_string());
    assert_eq!(network("ij,jk->ik", &[&[2, 3], &[3, 4]]), of(&["ij", "jk"], "ik"));
    assert_eq!(network(" i j , jk\t-> k i", &[&[2, 3], &[3, 4]]), of(&["ij", "jk"], "ki"));
    assert_eq!(network("bA,aA", &[&[2, 3], &[4, 3]]), of(&["bA", "aA"], "ab"));
    assert_eq!(network("bBa", &[&[2, 3, 4]]), of(&["bBa"], "Bab"));
    assert_eq!(network("ii", &[&[2, 2]]), of(&["ii"], ""));
    assert_eq!(network("ii->i", &[&[2, 2]]), of(&["ii"], "i"));
    assert_eq!(network("", &[&[]]), of(&[""], ""));
    assert_eq!(network(",->", &[&[], &[]]), of(&["", ""], ""));
    assert_eq!(network("a...b,...bc", &[&[2, 5, 3], &[7, 5, 3, 4]]), of(&["a₁b", "₀₁bc"], "₀₁ac"));
    assert_eq!(network("...->", &[&[2, 3]]), of(&["₀₁"], ""));
    assert_eq!(network("i->i...", &[&[2]]), of(&["i"], "i"));
    assert_eq!(network("αβ->βα", &[&[2, 3]]), of(&["αβ"], "βα"));
}

#[test]
fn sizes_of_hidden_axes() {
    let sizes = |shapes: &[&[usize]]| Equation::parse("...,...").unwrap().resolve(shapes).map(|n| n.sizes);
    assert_eq!(sizes(&[&[1, 3], &[2, 1]]).unwrap(), [2, 3]);
    assert_eq!(sizes(&[&[3], &[2, 1]]).unwrap(), [2, 3]);
    assert_eq!(sizes(&[&[0], &[1]]).unwrap(), [0]);
    assert!(sizes(&[&[3], &[2]]).is_err());
}
