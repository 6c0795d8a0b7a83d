//! Files that are refused and left unchanged.

use std::path::Path;

use reflect_engine::Error;
use reflect_engine::store::Sqlite;
use reflect_types::{ErrorCode, ListTraces, Verdict};

use crate::common::child::{self, ChildLines};
use crate::common::{learn, project, run};
use crate::{count, engine, filled, open_plainly};

#[tokio::test]
async fn a_newer_file_is_refused_with_advice_to_upgrade() {
    let (_folder, file) = filled().await;
    open_plainly(&file)
        .pragma_update(None, "user_version", 99)
        .unwrap();
    let error = refused_unchanged(&file);
    assert!(matches!(error, Error::Newer { found: 99, .. }));
    assert!(error.to_string().contains("upgrade Reflect"), "{error}");
}

#[tokio::test]
async fn a_file_of_another_program_is_refused_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("notes.db");
    open_plainly(&file)
        .execute_batch("CREATE TABLE note (text TEXT); INSERT INTO note VALUES ('mine')")
        .unwrap();
    let error = refused_unchanged(&file);
    assert!(matches!(error, Error::Foreign { .. }));
    assert!(
        error.to_string().contains("not a Reflect database"),
        "{error}"
    );

    let marked = folder.path().join("marked.db");
    open_plainly(&marked)
        .pragma_update(None, "application_id", 1)
        .unwrap();
    assert!(matches!(refused_unchanged(&marked), Error::Foreign { .. }));

    let prose = folder.path().join("prose.txt");
    std::fs::write(&prose, "Dear diary, this is not a database. ".repeat(300)).unwrap();
    assert!(matches!(refused_unchanged(&prose), Error::Foreign { .. }));
}

#[tokio::test]
async fn a_damaged_file_is_reported_and_left_unchanged() {
    // The schema, which is read on opening.
    let (_folder, file) = filled().await;
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[100..3_000].fill(0xa5);
    std::fs::write(&file, &bytes).unwrap();
    let error = refused_unchanged(&file);
    assert!(matches!(error, Error::Corrupt { .. }), "{error:?}");
    assert!(error.to_string().contains("restore a backup"), "{error}");

    // The traces, which are read later.
    let (_folder, file) = filled().await;
    let pages: Vec<u32> = {
        let db = open_plainly(&file);
        let roots = "SELECT rootpage FROM sqlite_schema WHERE tbl_name = 'trace' AND rootpage > 0";
        let mut select = db.prepare(roots).unwrap();
        let pages = select.query_map([], |row| row.get(0)).unwrap();
        pages.map(Result::unwrap).collect()
    };
    let mut bytes = std::fs::read(&file).unwrap();
    for page in pages {
        let end = page as usize * 4_096;
        bytes[end - 4_096..end].fill(0xa5);
    }
    std::fs::write(&file, &bytes).unwrap();
    let engine = engine(&file);
    let list = ListTraces::default();
    let error = engine.list_traces(&project(), &list).await.unwrap_err();
    assert!(matches!(error, Error::Corrupt { .. }), "{error:?}");
    let error = engine.create_trace(&project(), run("t")).await.unwrap_err();
    assert!(matches!(error, Error::Corrupt { .. }), "{error:?}");
    assert_eq!(error.code(), ErrorCode::Internal);
    engine.shutdown().await.unwrap();
    assert!(
        std::fs::read(&file).unwrap() == bytes,
        "the file was changed"
    );
}

#[tokio::test]
async fn a_path_that_cannot_be_opened_is_reported_with_advice() {
    let folder = tempfile::tempdir().unwrap();
    let absent = folder.path().join("no/such/folder/reflect.db");
    for path in [absent.as_path(), folder.path()] {
        let error = Sqlite::open(path).unwrap_err();
        assert!(matches!(error, Error::Inaccessible { .. }), "{error:?}");
        assert!(
            error
                .to_string()
                .contains("check that its directory exists"),
            "{error}"
        );
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_read_only_file_is_refused() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;

    let (folder, file) = filled().await;
    let allow = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let before = std::fs::read(&file).unwrap();
    for (file_mode, folder_mode) in [(0o444, 0o777), (0o666, 0o555), (0o444, 0o555)] {
        allow(&file, file_mode);
        allow(folder.path(), folder_mode);
        let mut child = child::command("the_other_process", "open", &file);
        // Root may write everything, so the child runs as another user.
        if std::fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0) {
            child.uid(65_534).gid(65_534);
        }
        let mut child = match child.spawn() {
            Ok(child) => child,
            Err(error) => {
                println!("skipped: another user cannot run this test ({error})");
                return;
            }
        };
        let lines: Vec<String> = ChildLines::of(&mut child).collect();
        child.wait().unwrap();
        let lines = lines.concat();
        assert!(
            lines.contains("this user"),
            "{file_mode:o} in {folder_mode:o}: {lines}"
        );
        assert!(
            std::fs::read(&file).unwrap() == before,
            "the file was changed"
        );
    }
    allow(folder.path(), 0o755);
    allow(&file, 0o644);
    assert_eq!(count(&engine(&file)).await, 1);
}

#[tokio::test]
async fn an_empty_file_becomes_a_database() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("reflect.db");
    std::fs::write(&file, "").unwrap();
    let engine = engine(&file);
    learn(&engine, run("Pay the bill"), Verdict::Pass).await;
}

/// The error of opening the file, which leaves its folder unchanged.
fn refused_unchanged(file: &Path) -> Error {
    let folder = || {
        let mut files: Vec<_> = std::fs::read_dir(file.parent().unwrap())
            .unwrap()
            .map(|entry| {
                let path = entry.unwrap().path();
                (std::fs::read(&path).unwrap(), path)
            })
            .collect();
        files.sort();
        files
    };
    let before = folder();
    let error = Sqlite::open(file).unwrap_err();
    assert!(folder() == before, "something was changed");
    error
}
