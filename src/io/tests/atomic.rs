use std::io::Write;

use super::*;

#[test]
fn what_is_sent_to_the_disk_early_is_whole_and_a_panic_ends_it() {
    let folder = std::env::temp_dir().join(format!("openwork-atomic-early-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("file");
    let part: Vec<u8> = (0..1 << 20).map(|i: u32| (i.wrapping_mul(0x9e37_79b9) >> 24) as u8).collect();
    let parts = 2 * TOGETHER as usize / part.len() + 1;
    let bytes = (parts * part.len()) as u64;
    write_about(&path, bytes, |file| (0..parts).try_for_each(|_| file.write_all(&part))).unwrap();
    assert!(fs::read(&path).unwrap().chunks(part.len()).eq((0..parts).map(|_| &part[..])));
    let caught = std::panic::catch_unwind(|| write_about(&path, bytes, |_| panic!("half way")));
    assert!(caught.is_err());
    assert_eq!(fs::metadata(&path).unwrap().len(), bytes);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing else is left behind");
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_failed_write_leaves_the_old_file() {
    let folder = std::env::temp_dir().join(format!("openwork-atomic-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("file");
    write(&path, |file| file.write_all(b"old")).unwrap();
    let error = write(&path, |file| {
        file.write_all(b"new, but")?;
        Err(io::Error::other("the disk is full"))
    });
    assert!(error.unwrap_err().to_string().contains("the disk is full"));
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing else is left behind");
    write(&path, |file| file.write_all(b"new")).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    #[cfg(unix)]
    {
        let link = folder.join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        write(&link, |file| file.write_all(b"through")).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&path).unwrap(), b"through");
    }
    assert!(write(&folder.join("no").join("file"), |_| Ok(())).is_err());
    assert!(write(&folder, |_| Ok(())).is_err());
    fs::remove_dir_all(&folder).unwrap();
}
