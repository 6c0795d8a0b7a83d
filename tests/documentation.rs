//! The shell commands of the documentation work as they stand there.
//!
//! Every block of `sh` or `console` is run, page by page in order, but for those of [`NOT_RUN`]. In a block with
//! prompts (`$ `), and in a block of `text` after commands, the other lines are what the commands print.

#![expect(clippy::unwrap_used, reason = "a test may")]
#![cfg(unix)]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// How a line of a block that cannot be run here begins, and what it needs.
const NOT_RUN: [(&str, &str); 6] = [
    ("cargo xtask", "takes minutes, or runs this test"),
    ("createdb", "a PostgreSQL server"),
    (
        "reflect migrate reflect.db 'postgres:",
        "a PostgreSQL server",
    ),
    ("docker", "a container engine"),
    ("llama-server", "a model of 100 MB"),
    ("sudo", "root and systemd"),
];

/// Stands for the parts of a reader's machine: an installed program, a clone, a port of its own. A server
/// in the background is waited for, as a reader does; one in the foreground is stopped once it listens.
const PRELUDE: &str = r#"
set -euo pipefail -m
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
trap 'echo "failed: $BASH_COMMAND" >&2' ERR
export PATH="$PROGRAM:$PATH" REFLECT_LISTEN="127.0.0.1:$PORT"
cargo() {
    case "$1 $2" in
        "install --locked"|"vendor --locked") ;;
        "run -p") reflect "${@:5}" ;;
        "run --example")
            if [ -x "$PROGRAM/examples/$3" ]; then "$PROGRAM/examples/$3" "${@:4}"
            else (cd "$CLONE" && command cargo run --quiet --locked "${@:2}"); fi ;;
        *) echo "cargo $* is not run here" >&2; return 1 ;;
    esac
}
reflect() {
    [ "$BASHPID" = "$$" ] || exec "$PROGRAM/reflect" "$@"
    case "$1" in
        serve|demo)
            : >server.out # Else what the last one said may be read before the shell has started this one.
            "$PROGRAM/reflect" "$@" >server.out &
            local server=$!
            until grep -q http server.out; do kill -0 $server; sleep 0.05; done
            kill $server
            wait $server
            cat server.out ;;
        *) "$PROGRAM/reflect" "$@" ;;
    esac
}
started() {
    for _ in {1..600}; do
        if (exec 3<>"/dev/tcp/127.0.0.1/$PORT") 2>/dev/null; then return; fi
        sleep 0.05
    done
    echo "no server" >&2
    return 1
}
curl() { command curl --silent --show-error --fail-with-body "$@"; }
for program in curl openssl; do
    command -v $program >/dev/null || eval "$program() { echo \"not run without $program: \$*\"; }"
done
"#;

/// What a page takes for granted: files, a server with runs, programs of the reader.
struct Given {
    page: &'static str,
    commands: &'static str,
    /// What stands on the page for a value of the reader's, and that value.
    values: &'static [(&'static str, &'static str)],
}

const GIVEN: [Given; 6] = [
    Given {
        page: "docs/formats.md",
        commands: r#"
export REFLECT_DATA=reflect.db
cat >runs.jsonl <<'END'
{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]}
END
"#,
        values: &[],
    },
    Given {
        page: "docs/moving-in.md",
        commands: r#"
KEY=$(reflect keys generate)
cat >runs.jsonl <<'END'
{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]}
END
reflect import --format openai runs.jsonl --data there.db --project support
reflect serve --data there.db --listen 127.0.0.1:8000 --master-key "$KEY" &
"#,
        values: &[("https://reflect.example.com", "http://127.0.0.1:8000")],
    },
    Given {
        page: "docs/reviews-from-elsewhere.md",
        commands: r#"
export REFLECT_DATA=reflect.db
cat >runs.jsonl <<'END'
{"messages": [{"role": "user", "content": "Refund order 8"}], "metadata": {"test": "shop.refund"}}
END
reflect import --format openai runs.jsonl
reflect keys generate >master.key
reflect serve --listen 127.0.0.1:8000 --master-key-file master.key &
echo '<testsuite><testcase classname="shop" name="refund"/></testsuite>' >report.xml
mkdir bin
export PATH="$PWD/bin:$PATH"
ln -s "$(command -v cat)" bin/my-agent
ln -s "$(command -v cat)" bin/my-check
printf 'Refund order 9\nRefund order 10\n' >tasks.txt
"#,
        values: &[],
    },
    Given {
        page: "docs/deploy-behind-a-proxy.md",
        commands: "",
        values: &[("0.0.0.0:8443", "127.0.0.1:8000")],
    },
    Given {
        page: "reflect-cli/README.md",
        commands: "mkdir .cargo\n",
        values: &[],
    },
    Given {
        page: "reflect-server/README.md",
        commands: r#"
cat >runs.jsonl <<'END'
{"messages": [{"role": "user", "content": "Refund order 1"}]}
{"messages": [{"role": "user", "content": "Refund order 2"}]}
{"messages": [{"role": "user", "content": "Refund order 3"}], "metadata": {"ticket": "123"}}
END
export REFLECT_DATA=reflect.db REFLECT_PROJECT_ID=support
id() { grep --only-matching '0[0-9a-f]\{7\}-[0-9a-f-]\{27\}' | sed --quiet 1p; }
reflect import --format openai runs.jsonl
trace=$(reflect traces --json | tr -d '\n ' | tr '{' '\n' | grep '"task":"Refundorder1"' | id)
reviewed=$(reflect traces --json | tr -d '\n ' | tr '{' '\n' | grep '"task":"Refundorder2"' | id)
reflect review "$reviewed" --fail "Look at the date first"
memory=$(reflect memories --json | id)
reflect keys generate >master.key
agent=$(reflect keys create agent --all --json | id)
reflect serve --listen 127.0.0.1:8000 --master-key-file master.key &
"#,
        values: &[
            ("rf_live_…", "$(cat master.key)"),
            ("traces/019…", "traces/$trace"),
            // Within single quotes.
            ("[\"019…\"]", "[\"'$memory'\"]"),
            ("\"key_id\": \"019…\"", "\"key_id\": \"'$agent'\""),
        ],
    },
];

#[test]
fn shell_commands_of_the_documentation_work() {
    let (mut tried, mut left_out) = (BTreeSet::new(), BTreeSet::new());
    for (page, text) in pages() {
        let (mut commands, mut printed) = (String::new(), Vec::new());
        let mut follows_commands = false;
        for block in blocks(&text) {
            let is_shell = matches!(block.language, "sh" | "bash" | "shell" | "console");
            if let Some(reason) = is_shell.then(|| not_run(&block.text)).flatten() {
                left_out.insert(reason);
            } else if is_shell {
                let (run, shown) = block.session();
                commands.push_str(&run);
                printed.extend(shown);
            } else if block.language == "text" && page != "reflect-cli/REFERENCE.md" {
                let is_command = |line: &&str| {
                    let program = line.split(' ').next();
                    program
                        .is_some_and(|name| ["cargo", "curl", "docker", "reflect"].contains(&name))
                };
                let command = block.text.lines().find(is_command);
                assert_eq!(command, None, "{page}: commands are `sh`, not `text`");
                if follows_commands {
                    printed.extend(block.text.lines().map(str::to_owned));
                }
            }
            follows_commands = is_shell;
        }
        if commands.is_empty() {
            continue;
        }
        let given = GIVEN.iter().find(|given| given.page == page);
        let values = given.map_or(&[][..], |given| given.values);
        let commands = values
            .iter()
            .fold(commands, |text, (shown, value)| text.replace(shown, value));
        let said = run(
            &page,
            &format!("{}{commands}", given.map_or("", |given| given.commands)),
        );
        for expected in printed {
            let expected = expected.split('…').next().unwrap_or_default();
            assert!(
                said.contains(expected),
                "{page}: no {expected:?} in\n{said}"
            );
        }
        tried.insert(page);
    }
    for page in ["README.md", "docs/tutorial.md", "reflect-cli/README.md"] {
        assert!(tried.contains(page), "{page} is not among {tried:?}");
    }
    assert!(
        GIVEN.iter().all(|given| tried.contains(given.page)),
        "{tried:?}"
    );
    for (beginning, needs) in NOT_RUN {
        let is_there = left_out.contains(beginning);
        assert!(is_there, "no page has `{beginning}` ({needs}) any more");
    }
}

/// The pages of the root, of `docs/` and of the crates, by their paths.
fn pages() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut pages = Vec::new();
    let mut folders = vec![String::new(), "docs/design/".to_owned()];
    for entry in std::fs::read_dir(&root).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_dir() && !name.starts_with('.') && name != "target" {
            folders.push(format!("{name}/"));
        }
    }
    for folder in folders {
        for entry in std::fs::read_dir(root.join(&folder)).unwrap().flatten() {
            let name = entry.file_name().into_string().unwrap();
            if entry.path().extension().is_some_and(|end| end == "md") {
                let text = std::fs::read_to_string(entry.path()).unwrap();
                pages.push((format!("{folder}{name}"), text));
            }
        }
    }
    pages
}

struct Block<'a> {
    language: &'a str,
    text: String,
}

impl Block<'_> {
    /// The commands, and the lines that they print.
    fn session(&self) -> (String, Vec<String>) {
        if !self.text.lines().any(|line| line.starts_with("$ ")) {
            return (self.text.clone(), Vec::new());
        }
        let (mut commands, mut printed) = (String::new(), Vec::new());
        for line in self.text.lines() {
            match line.strip_prefix("$ ") {
                Some(command) => commands.extend([command, "\n"]),
                None => printed.push(line.to_owned()),
            }
        }
        (commands, printed)
    }
}

/// The code blocks of a page.
fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let code = lines.by_ref().take_while(|line| *line != "```");
            let text = code.flat_map(|line| [line, "\n"]).collect();
            blocks.push(Block { language, text });
        }
    }
    blocks
}

/// The beginning of a line in [`NOT_RUN`], if the block has one.
fn not_run(block: &str) -> Option<&'static str> {
    let mut beginnings = NOT_RUN.iter().map(|(beginning, _)| *beginning);
    beginnings.find(|beginning| block.lines().any(|line| line.starts_with(beginning)))
}

/// What the commands print.
fn run(page: &str, commands: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_reflect"));
    let folder = tempfile::tempdir().unwrap();
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let file = |name: &str, text: String| std::fs::write(folder.path().join(name), text).unwrap();
    file("fullchain.pem", certified.cert.pem());
    file("privkey.pem", certified.signing_key.serialize_pem());
    let port = {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        free.local_addr().unwrap().port().to_string()
    };
    let commands = commands.replace("127.0.0.1:8000", &format!("127.0.0.1:{port}"));
    let commands = commands.replace(" &\n", " &\nstarted\n");
    let mut shell = Command::new("bash");
    for (name, _) in std::env::vars_os() {
        let is_setting = |name: &str| name.starts_with("REFLECT_") || name.starts_with("OPENAI_");
        // Without a display, the demo opens no browser.
        if name.to_str().is_some_and(is_setting) || name == "DISPLAY" || name == "WAYLAND_DISPLAY" {
            shell.env_remove(name);
        }
    }
    let output = shell
        .arg("-c")
        .arg(format!("{PRELUDE}{commands}"))
        .current_dir(folder.path())
        .env("PROGRAM", program.parent().unwrap())
        .env("CLONE", Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .env("PORT", &port)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).replace(&port, "8000");
    let problem = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{page}: {commands}\n{said}\n{problem}"
    );
    said
}
