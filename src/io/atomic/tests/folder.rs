//! Folders that are written whole or not at all.

use super::*;

#[test]
fn folders_are_moved_one_by_one_where_they_cannot_change_places() {
    let folder = std::env::temp_dir().join(format!("openwork-atomic-aside-{}", std::process::id()));
    let [new, old] = ["new", "old"].map(|name| folder.join(name));
    for path in [&new, &old] {
        fs::create_dir_all(path).unwrap();
        fs::write(path.join("mark"), path.file_name().unwrap().as_encoded_bytes()).unwrap();
    }
    one_by_one(&new, &old).unwrap();
    assert_eq!(fs::read_to_string(old.join("mark")).unwrap(), "new");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing else is left behind");
    // One that is gone already leaves the old one where it was.
    assert!(one_by_one(&new, &old).is_err());
    assert_eq!(fs::read_to_string(old.join("mark")).unwrap(), "new");
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_folder_is_whole_or_not_there() {
    let folder = std::env::temp_dir().join(format!("openwork-atomic-folder-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("store");
    let is_store = |path: &Path| path.join("mark").is_file();
    let put = |text: &'static str| move |at: &Path| fs::write(at.join("mark"), text);
    write_folder(&path, &is_store, &mut put("old")).unwrap();
    let failed = write_folder(&path, &is_store, &mut |at| {
        fs::write(at.join("other"), "half")?;
        Err(io::Error::other("the disk is full"))
    });
    assert!(failed.unwrap_err().to_string().contains("the disk is full"));
    assert_eq!(fs::read_to_string(path.join("mark")).unwrap(), "old");
    write_folder(&path, &is_store, &mut put("new")).unwrap();
    assert_eq!(fs::read_to_string(path.join("mark")).unwrap(), "new");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing else is left behind");
    // A folder of something else, and a file, are left alone.
    let other = folder.join("photos");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("one"), "of many").unwrap();
    let refused = write_folder(&other, &is_store, &mut put("new")).unwrap_err().to_string();
    assert!(refused.contains("not a folder that can be replaced"), "{refused}");
    assert!(write_folder(&other.join("one"), &is_store, &mut put("new")).is_err());
    assert_eq!(fs::read_to_string(other.join("one")).unwrap(), "of many");
    fs::remove_dir_all(&folder).unwrap();
}
