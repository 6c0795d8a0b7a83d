//! The shell commands of `docs/` work as they stand there.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Stands for the parts of a reader's machine: an installed program, a clone, a port of its own. A server
/// that is started in the background is waited for, as a reader does.
const PRELUDE: &str = r#"
set -euo pipefail -m
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
export PATH="$PROGRAM:$PATH"
cargo() {
    case "$1 $2" in
        "install --path") ;;
        "run --example")
            if [ -x "$PROGRAM/examples/$3" ]; then "$PROGRAM/examples/$3" "${@:4}"
            else (cd "$CLONE" && command cargo run --quiet --locked "${@:2}"); fi ;;
        *) echo "cargo $* is not run here" >&2; return 1 ;;
    esac
}
started() { until (exec 3<>"/dev/tcp/127.0.0.1/$PORT") 2>/dev/null; do sleep 0.05; done; }
curl() { command curl --silent --show-error --fail-with-body "$@"; }
command -v curl >/dev/null || curl() { echo "not run without curl: $*"; }
"#;

/// What a page takes for granted: files, a server with runs, programs of the reader.
const GIVEN: [(&str, &str); 3] = [
    (
        "formats.md",
        r#"
export REFLECT_DATA=reflect.db
cat >runs.jsonl <<'END'
{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]}
END
"#,
    ),
    (
        "moving-in.md",
        r#"
KEY=$(reflect keys generate)
cat >runs.jsonl <<'END'
{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]}
END
reflect import --format openai runs.jsonl --data there.db --project support
reflect serve --data there.db --listen 127.0.0.1:8000 --master-key "$KEY" &
"#,
    ),
    (
        "reviews-from-elsewhere.md",
        r#"
export REFLECT_DATA=reflect.db
cat >runs.jsonl <<'END'
{"messages": [{"role": "user", "content": "Refund order 7"}], "metadata": {"ticket": "123"}}
{"messages": [{"role": "user", "content": "Refund order 8"}], "metadata": {"test": "shop.refund"}}
END
reflect import --format openai runs.jsonl
reflect keys generate >master.key
reflect serve --listen 127.0.0.1:8000 --master-key-file master.key &
key="Authorization: Bearer $(cat master.key)"
api=http://127.0.0.1:8000/v1/projects/default
echo '<testsuite><testcase classname="shop" name="refund"/></testsuite>' >report.xml
mkdir bin
export PATH="$PWD/bin:$PATH"
ln -s "$(command -v cat)" bin/my-agent
ln -s "$(command -v cat)" bin/my-check
printf 'Refund order 9\nRefund order 10\n' >tasks.txt
"#,
    ),
];

#[test]
fn shell_commands_of_the_documentation_work() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let mut tried = BTreeSet::new();
    for page in std::fs::read_dir(docs).unwrap().flatten() {
        let Ok(text) = std::fs::read_to_string(page.path()) else {
            continue;
        };
        let commands = blocks(&text, "sh");
        if commands.is_empty() {
            continue;
        }
        let name = page.file_name().into_string().unwrap();
        let given = GIVEN.iter().find(|(of, _)| *of == name);
        let given = given.map_or("", |(_, given)| given);
        let said = run(&format!("{given}{}", commands.concat()));
        for expected in blocks(&text, "text").iter().flat_map(|block| block.lines()) {
            assert!(
                said.contains(expected),
                "{name}: no {expected:?} in\n{said}"
            );
        }
        tried.insert(name);
    }
    assert!(tried.contains("tutorial.md"));
    assert!(GIVEN.iter().all(|(of, _)| tried.contains(*of)), "{tried:?}");
}

/// The code blocks of a language.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let start = format!("```{language}\n");
    let blocks = page.split(&start).skip(1);
    blocks
        .filter_map(|rest| rest.split_once("```").map(|(block, _)| block.to_owned()))
        .collect()
}

/// What the commands print.
fn run(commands: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_reflect"));
    let folder = tempfile::tempdir().unwrap();
    let port = {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        free.local_addr().unwrap().port().to_string()
    };
    let commands = commands.replace("https://reflect.example.com", "http://127.0.0.1:8000");
    let commands = commands.replace("127.0.0.1:8000", &format!("127.0.0.1:{port}"));
    let commands = commands.replace(" &\n", " &\nstarted\n");
    let output = Command::new("bash")
        .arg("-c")
        .arg(format!("{PRELUDE}{commands}"))
        .current_dir(folder.path())
        .env("PROGRAM", program.parent().unwrap())
        .env("CLONE", Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .env("PORT", port)
        .env_remove("REFLECT_DATA")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let problem = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{commands}\n{said}\n{problem}");
    said
}
