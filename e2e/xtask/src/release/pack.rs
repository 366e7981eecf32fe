//! Archives whose bytes depend only on the files in them: these have a fixed owner, fixed permissions and
//! one time. Those of tar are sorted, and those of zip keep their order.

use std::collections::BTreeSet;
use std::io::{Cursor, Write};

use anyhow::Result;
use flate2::{Compression, GzBuilder};
use tar::{Builder, EntryType, Header};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, System, ZipWriter};

use super::packed_file::PackedFile;

/// Packs files as tar. Each folder has an entry before the files in it.
pub(super) fn tar(files: &[PackedFile], time: u64) -> Result<Vec<u8>> {
    tar_entries(files, time, true)
}

/// Packs files as npm does: a folder has no entry, because npm would list it as an empty file.
pub(super) fn npm_tgz(files: &[PackedFile], time: u64) -> Result<Vec<u8>> {
    gzip(&tar_entries(files, time, false)?)
}

fn tar_entries(files: &[PackedFile], time: u64, has_folders: bool) -> Result<Vec<u8>> {
    let mut sorted: Vec<&PackedFile> = files.iter().collect();
    sorted.sort_by(|left, right| left.path.cmp(&right.path));
    let mut builder = Builder::new(Vec::new());
    let mut folders = BTreeSet::new();
    for file in sorted {
        for (end, _) in file.path.match_indices('/') {
            let folder = &file.path[..=end];
            if has_folders && folders.insert(folder.to_owned()) {
                let mut header = header(EntryType::Directory, 0o755, 0, time);
                builder.append_data(&mut header, folder, [].as_slice())?;
            }
        }
        let mut header = header(EntryType::Regular, file.mode, file.content.len(), time);
        builder.append_data(&mut header, &file.path, &*file.content)?;
    }
    Ok(builder.into_inner()?)
}

fn header(kind: EntryType, mode: u32, length: usize, time: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(time);
    header.set_size(length as u64);
    header
}

/// Compresses without a name and a time.
pub(super) fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = GzBuilder::new().write(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}

/// Packs files as a compressed tar.
pub(super) fn tar_gz(files: &[PackedFile], time: u64) -> Result<Vec<u8>> {
    gzip(&tar(files, time)?)
}

/// Packs files as zip, in the order in which they are given: the list of a wheel is its last file. The time
/// is 1980, the first that the format has.
pub(super) fn zip(files: &[PackedFile]) -> Result<Vec<u8>> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for file in files {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .compression_level(Some(9))
            .last_modified_time(DateTime::default())
            .system(System::Unix)
            .unix_permissions(file.mode);
        writer.start_file(&file.path, options)?;
        writer.write_all(&file.content)?;
    }
    Ok(writer.finish()?.into_inner())
}

/// Packs files as `ar`, the format of Debian's packages. Names have at most 15 characters.
pub(super) fn ar(files: &[PackedFile], time: u64) -> Vec<u8> {
    let mut archive = b"!<arch>\n".to_vec();
    for file in files {
        let length = file.content.len();
        let header = format!(
            "{:<16}{time:<12}{:<6}{:<6}{:<8}{length:<10}`\n",
            file.path, 0, 0, "100644"
        );
        archive.extend_from_slice(header.as_bytes());
        archive.extend_from_slice(&file.content);
        if length % 2 == 1 {
            archive.push(b'\n');
        }
    }
    archive
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;
    use tar::Archive;
    use zip::ZipArchive;

    use super::*;

    fn files() -> Vec<PackedFile> {
        vec![
            PackedFile::text("package/readme", "text"),
            PackedFile::program("package/bin/program", &b"program"[..].into()),
        ]
    }

    #[test]
    fn a_tar_does_not_depend_on_the_order_of_its_files() {
        let mut reversed = files();
        reversed.reverse();
        assert_eq!(tar_gz(&files(), 7).unwrap(), tar_gz(&reversed, 7).unwrap());
        assert_ne!(tar_gz(&files(), 7).unwrap(), tar_gz(&files(), 8).unwrap());
    }

    #[test]
    fn a_tar_has_folders_before_files_and_belongs_to_root() {
        let bytes = tar_gz(&files(), 7).unwrap();
        let mut archive = Archive::new(GzDecoder::new(bytes.as_slice()));
        let entries: Vec<_> = archive.entries().unwrap().map(Result::unwrap).collect();
        let seen: Vec<_> = entries
            .iter()
            .map(|entry| {
                let header = entry.header();
                assert_eq!(header.uid().unwrap() + header.gid().unwrap(), 0);
                assert_eq!(header.mtime().unwrap(), 7);
                let path = entry.path().unwrap().to_string_lossy().into_owned();
                (path, header.mode().unwrap())
            })
            .collect();
        let expected = [
            ("package/", 0o755),
            ("package/bin/", 0o755),
            ("package/bin/program", 0o755),
            ("package/readme", 0o644),
        ];
        assert_eq!(seen, expected.map(|(path, mode)| (path.to_owned(), mode)));
    }

    #[test]
    fn a_path_of_more_than_a_hundred_characters_is_kept() {
        let path = format!("{}/file", "folder".repeat(30));
        let bytes = tar(&[PackedFile::text(path.as_str(), "x")], 0).unwrap();
        let mut archive = Archive::new(bytes.as_slice());
        let mut paths = archive.entries().unwrap().map(|entry| {
            let entry = entry.unwrap();
            entry.path().unwrap().to_string_lossy().into_owned()
        });
        assert!(paths.any(|found| found == path));
    }

    #[test]
    fn gzip_has_neither_a_name_nor_a_time() {
        let bytes = gzip(b"text").unwrap();
        assert_eq!(bytes[3..8], [0; 5]);
        let mut text = String::new();
        GzDecoder::new(bytes.as_slice())
            .read_to_string(&mut text)
            .unwrap();
        assert_eq!(text, "text");
    }

    #[test]
    fn a_zip_keeps_the_order_and_the_modes() {
        let bytes = zip(&files()).unwrap();
        assert_eq!(bytes, zip(&files()).unwrap());
        let mut archive = ZipArchive::new(Cursor::new(bytes)).unwrap();
        let mut seen = Vec::new();
        for index in 0..archive.len() {
            let file = archive.by_index(index).unwrap();
            seen.push((
                file.name().unwrap().into_owned(),
                file.unix_mode().unwrap() & 0o777,
            ));
        }
        assert_eq!(seen[0], ("package/readme".to_owned(), 0o644));
        assert_eq!(seen[1], ("package/bin/program".to_owned(), 0o755));
    }

    #[test]
    fn members_of_ar_begin_at_even_positions() {
        let files = [PackedFile::text("odd", "1"), PackedFile::text("even", "22")];
        let bytes = ar(&files, 5);
        assert_eq!(bytes.len(), 8 + 60 + 2 + 60 + 2);
        assert_eq!(&bytes[8..11], b"odd");
        assert_eq!(&bytes[66..70], b"`\n1\n");
    }
}
