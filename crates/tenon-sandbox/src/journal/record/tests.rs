use super::*;

#[test]
fn a_name_that_leads_elsewhere_is_none() {
    let folder = NodeId::read(&mut Reader::new(&[0; 24])).unwrap();
    for (name, is_name) in [
        ("x", true),
        (" ..", true),
        ("", true),
        (".", false),
        ("..", false),
        ("../x", false),
        ("/x", false),
        ("a/b", false),
        ("a/", false),
    ] {
        let record = Record::Entry { folder, name: name.into(), before: None };
        let bytes = record.to_bytes().unwrap();
        assert_eq!(Record::from_bytes(&bytes[4..]), is_name.then_some(record), "{name:?}");
    }
}

#[test]
fn a_call_that_touches_ever_more_is_recorded_up_to_a_limit() {
    let folder = NodeId::read(&mut Reader::new(&[0; 24])).unwrap();
    let entry = || Record::Entry { folder, name: "x".into(), before: None };
    let full = Image { recorded: RECORDED_MAX, ..Image::default() };
    assert!(Image::default().has_room_for(&entry()) && !full.has_room_for(&entry()));
    // What was recorded can be completed, and told.
    assert!(full.has_room_for(&Record::Gone { id: folder }));
    let mut image = Image::default();
    image.apply(entry());
    image.apply(Record::Moved { id: folder, place: Place { root: 0, path: "d/new".into() } });
    assert_eq!((image.recorded, image.path_bytes), (2, 6));
    let long = Image { path_bytes: PATH_BYTES_MAX, ..Image::default() };
    assert!(!long.has_room_for(&entry()));
    let header = Header { undoes: vec![CheckpointId(1)], ..Header::default() };
    assert!(Image { header, ..full }.has_room_for(&entry()));
}
