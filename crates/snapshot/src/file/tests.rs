//! Tests of the writer and of what a reader finds in its files.

use super::chunk;
use super::layout::{Layout, Source};
use super::{Fact, Info, SnapshotFacts, TypeRow, Writer, varint};

pub(crate) fn info() -> Info {
    Info {
        program: "leak.scm".to_owned(),
        pid: 7,
        started: 1_700_000_000_000,
        base: "40000000".to_owned(),
        ..Info::default()
    }
}

fn row(family: &str) -> TypeRow {
    TypeRow {
        family: family.to_owned(),
        is_virtual: family == "root",
        ..TypeRow::default()
    }
}

/// A root, and a list of so many pairs with strings.
pub(crate) fn write_list(writer: &mut Writer<impl std::io::Write>, pairs: u32) {
    let [root, pair, string] =
        ["root", "pair", "string"].map(|name| writer.type_number(&row(name)));
    writer.node(root, 0, 1);
    for number in 0..pairs {
        writer.edge_new();
        writer.node(pair, 1, 2);
        writer.address(u64::from(3 * number));
        writer.edge_new();
        let node = writer.node(string, 2, 0);
        writer.address(u64::from(3 * number + 1));
        writer.text(
            node,
            10,
            &format!("text {number}"),
            Some(u64::from(number % 7)),
        );
        writer.fact(node, Fact::InUse, 10);
    }
    // The last pair refers to itself.
    let last = writer.nodes() - 2;
    writer.edge_to(last);
}

fn facts() -> SnapshotFacts {
    SnapshotFacts::default()
}

fn list(pairs: u32) -> Vec<u8> {
    let mut writer = Writer::create(Vec::new(), &info()).unwrap();
    write_list(&mut writer, pairs);
    writer.finish_snapshot(facts()).unwrap();
    writer.into_inner()
}

fn layout(bytes: &[u8]) -> Layout {
    Layout::read(&Source::Bytes(bytes.to_vec())).unwrap()
}

#[test]
fn numbers_of_variable_length_are_read_as_written() {
    for value in [0, 1, 127, 128, 300, 1 << 35, u64::MAX] {
        let mut bytes = Vec::new();
        varint::push(&mut bytes, value);
        assert_eq!(bytes.len(), varint::length(value) as usize);
        assert_eq!(varint::take(&mut &bytes[..]), Some(value));
        assert_eq!(varint::take(&mut &bytes[..bytes.len() - 1]), None);
    }
    assert_eq!(varint::take(&mut &[0xff; 11][..]), None);
    for value in [0, -1, 1, i64::MIN, i64::MAX] {
        assert_eq!(varint::unzigzag(varint::zigzag(value)), value);
    }
}

#[test]
fn chunks_are_unpacked_as_packed() {
    let mut packer = chunk::Packer::new();
    let mut state = 1u64;
    for length in [0, 1, 63, 64, 1000, 40_000, 127 << 10, 128 << 10, 300_000] {
        for spread in [1, 3, 40, 256] {
            let next = |_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                ((state >> 33) % spread) as u8
            };
            let bytes: Vec<u8> = (0..length).map(next).collect();
            let packed = packer.chunk(chunk::NODE, 3, &mut bytes.clone());
            let (header, unpacked) = Source::Bytes(packed).chunk(0).unwrap();
            assert_eq!((header.tag, header.first), (chunk::NODE, 3));
            assert!(unpacked == bytes, "{length} bytes of {spread} values");
        }
    }
    // Long repetitions.
    for period in [1, 2, 9, 1000, 66_000] {
        let bytes: Vec<u8> = (0..127 << 10).map(|at| (at % period / 7) as u8).collect();
        let packed = packer.chunk(chunk::NODE, 0, &mut bytes.clone());
        let (_, unpacked) = Source::Bytes(packed).chunk(0).unwrap();
        assert!(unpacked == bytes, "a period of {period}");
    }
}

#[test]
fn a_directory_sums_up() {
    let layout = layout(&list(3));
    assert_eq!(layout.types.len(), 3);
    let (_, directory) = &layout.directories[0];
    assert_eq!(
        (directory.number, directory.nodes, directory.edges),
        (1, 7, 7)
    );
    assert_eq!((directory.objects, directory.bytes), (6, 3 * 16 + 3 * 32));
    let sums: Vec<_> = directory
        .summary
        .iter()
        .map(|sum| sum.type_number)
        .collect();
    assert_eq!(sums, [2, 1]);
    assert!(layout.note.is_none() && layout.rest.is_none());
}

#[test]
fn equal_chunks_are_there_once() {
    let mut writer = Writer::create(Vec::new(), &info()).unwrap();
    write_list(&mut writer, 50_000);
    let first = writer.finish_snapshot(facts()).unwrap();
    write_list(&mut writer, 50_010);
    let second = writer.finish_snapshot(facts()).unwrap();
    assert!(
        second.written * 2 < first.written,
        "{second:?} after {first:?}"
    );
    assert_eq!(second.number, 2);
    let layout = layout(&writer.into_inner());
    assert_eq!(layout.directories.len(), 2);
    assert_eq!(
        layout.directories[1].1.previous,
        Some(layout.directories[0].0)
    );
}

#[test]
fn a_file_is_continued_behind_its_last_whole_snapshot() {
    let path = std::env::temp_dir().join(format!("snapshot-append-{}", std::process::id()));
    let mut bytes = list(5);
    bytes.extend_from_slice(&list(5)[100..200]);
    std::fs::write(&path, &bytes).unwrap();
    let open = || {
        std::fs::File::options()
            .read(true)
            .write(true)
            .open(&path)
            .unwrap()
    };
    let mut writer = Writer::append(open(), &info()).unwrap();
    write_list(&mut writer, 5);
    let summary = writer.finish_snapshot(facts()).unwrap();
    assert_eq!(summary.number, 2);
    assert!(summary.shared > 0);
    let layout = layout(&std::fs::read(&path).unwrap());
    assert_eq!((layout.directories.len(), layout.types.len()), (2, 3));
    let other = Info { pid: 8, ..info() };
    let error = Writer::append(open(), &other).err().unwrap().to_string();
    assert_eq!(
        error,
        "the file has snapshots of another process, 7; expected a new file"
    );
    std::fs::write(&path, "something else").unwrap();
    assert!(Writer::append(open(), &info()).is_err());
    std::fs::remove_file(&path).unwrap();
}

/// Takes so many bytes, and then none.
struct Full(usize);

impl std::io::Write for Full {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        if taken == 0 {
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        Ok(taken)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_told_at_the_end() {
    let mut writer = Writer::create(Full(5000), &info()).unwrap();
    write_list(&mut writer, 50_000);
    assert!(writer.error().is_some());
    let error = writer.finish_snapshot(facts()).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
}

#[test]
fn records_that_do_not_fit_together_are_refused() {
    let mut writer = Writer::create(Vec::new(), &info()).unwrap();
    let root = writer.type_number(&row("root"));
    writer.node(root, 0, 2);
    writer.edge_to(0);
    assert!(writer.finish_snapshot(facts()).is_err());
    assert!(writer.error().is_some());
    let mut writer = Writer::create(Vec::new(), &info()).unwrap();
    writer.node(9, 0, 0);
    assert!(writer.finish_snapshot(facts()).is_err());
}

#[test]
fn a_cut_off_file_has_its_whole_snapshots_and_a_rest() {
    let mut writer = Writer::create(Vec::new(), &info()).unwrap();
    write_list(&mut writer, 100);
    writer.finish_snapshot(facts()).unwrap();
    write_list(&mut writer, 60_000);
    writer.finish_snapshot(facts()).unwrap();
    let bytes = writer.into_inner();
    let layout = layout(&bytes[..bytes.len() - 500]);
    assert_eq!(layout.directories.len(), 1);
    assert!(layout.note.is_some());
    assert!(
        layout.rest.unwrap().chunks["NODE"].len() > 1,
        "{:?}",
        layout.note
    );
}
