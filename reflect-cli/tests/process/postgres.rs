//! The program on PostgreSQL.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use reflect_engine::store::scratch_database;
use reflect_model_server::{Act, ModelServer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::{ServerConfig, crypto};

use super::outage::eventually;
use super::support::{KEY, Server, errors, reflect};

/// Answers a client's request for TLS, and passes what it decrypts to the database: the tests' PostgreSQL
/// may be built without TLS.
async fn tls_before(database: SocketAddr, config: ServerConfig) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move { pass(client, &acceptor, database).await });
        }
    });
    address
}

async fn pass(mut client: TcpStream, tls: &TlsAcceptor, database: SocketAddr) -> io::Result<()> {
    // The request for TLS: a length and a number.
    client.read_exact(&mut [0; 8]).await?;
    client.write_all(b"S").await?;
    let mut client = tls.accept(client).await?;
    let mut database = TcpStream::connect(database).await?;
    tokio::io::copy_bidirectional(&mut client, &mut database).await?;
    Ok(())
}

#[test]
#[ignore = "needs PostgreSQL: cargo xtask test postgres"]
fn verify_full_accepts_the_named_host_only() {
    let runtime = Runtime::new().unwrap();
    let address = runtime.block_on(scratch_database("tls"));
    let url = url::Url::parse(&address).unwrap();
    let database = url.socket_addrs(|| Some(5432)).unwrap()[0];

    let folder = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let roots = folder.path().join("ca.pem");
    std::fs::write(&roots, made.cert.pem()).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let port = runtime.block_on(tls_before(database, config)).port();

    let list = |host: &str, roots: Option<&str>| {
        let mut url = url.clone();
        url.set_host(Some(host)).unwrap();
        url.set_port(Some(port)).unwrap();
        url.query_pairs_mut().append_pair("sslmode", "verify-full");
        if let Some(roots) = roots {
            url.query_pairs_mut().append_pair("sslrootcert", roots);
        }
        let mut command = reflect();
        command.args(["traces", "--project", "p", "--data", url.as_str()]);
        command.output().unwrap()
    };
    let roots = roots.to_str().unwrap();
    let named = list("localhost", Some(roots));
    assert!(named.status.success(), "{}", errors(&named));
    for refused in [list("127.0.0.1", Some(roots)), list("localhost", None)] {
        let said = errors(&refused);
        assert!(!refused.status.success());
        assert!(said.contains("TLS fails"), "{said}");
        assert!(said.contains("sslrootcert"), "{said}");
        assert!(!said.contains(url.password().unwrap()), "{said}");
    }
}

#[test]
#[ignore = "needs PostgreSQL: cargo xtask test postgres"]
fn doctor_examines_a_database() {
    let runtime = Runtime::new().unwrap();
    let address = runtime.block_on(scratch_database("doctor"));
    let doctor = |address: &str| {
        let mut command = reflect();
        command.args(["doctor", "--json", "--data", address]);
        let output = command.output().unwrap();
        let found = String::from_utf8(output.stdout).unwrap();
        (output.status.success(), found)
    };
    // It only looks: the tables are those of a server.
    for _ in 0..2 {
        let (healthy, found) = doctor(&address);
        assert!(
            healthy && found.contains("the database is empty"),
            "{found}"
        );
        assert!(found.contains("creates its tables"), "{found}");
    }
    let server = Server::start(Path::new(&address), &["--master-key", KEY]);
    let (healthy, found) = doctor(&address);
    assert!(healthy, "{found}");
    drop(server);
    for said in [
        "PostgreSQL 1",
        "pgvector 0.",
        "connections are in use",
        "all indexes are valid",
        "the clocks differ by",
        "a round trip takes",
        "0 reflection jobs in the queue",
    ] {
        assert!(found.contains(said), "{said}: {found}");
    }
    let mut url = url::Url::parse(&address).unwrap();
    url.set_password(Some("not-this-one")).unwrap();
    let (healthy, found) = doctor(url.as_str());
    assert!(
        !healthy && found.contains("refuses this user or password"),
        "{found}"
    );
    assert!(!found.contains("not-this-one"), "{found}");
    assert!(
        found.contains("address that `reflect serve` uses"),
        "{found}"
    );
}

#[test]
#[ignore = "needs PostgreSQL: cargo xtask test postgres"]
fn metrics_have_the_connections_and_the_queue() {
    let runtime = Runtime::new().unwrap();
    let address = runtime.block_on(scratch_database("metrics"));
    let few = ["--master-key", KEY, "--database-connections", "5"];
    let server = Server::start(Path::new(&address), &few);
    let text = runtime.block_on(async {
        let answer = reqwest::get(format!("{}/metrics", server.url)).await;
        answer.unwrap().text().await.unwrap()
    });
    for line in [
        "reflect_store_reachable 1",
        "reflect_database_connections_max 5",
        "reflect_database_connections_waiting 0",
        "reflect_index_lag 0",
        r#"reflect_queue_jobs{kind="reflection"} 0"#,
        r#"reflect_queue_delay_seconds{kind="judgement"} 0"#,
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

/// Learns from a run, and asks for what was learned so far. Every call has to succeed.
fn work(server: &Server, n: usize) {
    let client = server.client(KEY).blocking();
    let task = format!("Water the plants in room {n}");
    let learned = client.create_trace_and_wait(&task, "Done.").pass().call();
    assert!(learned.unwrap().created_memory_id.is_some());
    client.query_memories(&task).call().unwrap();
}

#[test]
#[ignore = "needs PostgreSQL: cargo xtask test postgres"]
fn an_embedder_is_changed_while_traffic_flows() {
    let runtime = Runtime::new().unwrap();
    let address = runtime.block_on(scratch_database("embedders"));
    let models = runtime.block_on(ModelServer::start(|_| Act::Status(500, None)));
    let models = models.unwrap();
    let start = |more: &[&str]| {
        let arguments = [&["--master-key", KEY], more].concat();
        Server::start(Path::new(&address), &arguments)
    };
    let old = start(&[]);
    let new = {
        (0..20).for_each(|n| work(&old, n));
        let url = models.url();
        let model = ["--embeddings-model", "e", "--embeddings-base-url", &url];
        start(&model)
    };
    let embedder = |server: &Server| {
        let health = server.client(KEY).blocking().health().call().unwrap();
        health.0["embedder"].clone()
    };
    let explained = |server: &Server| {
        let client = server.client(KEY).blocking();
        let explained = client.query_memories("Water the plants").explain().call();
        let explained = explained.unwrap();
        let stats = client.admin().project_stats().call().unwrap();
        // Those that nearly repeat another are merged.
        let all = explained.considered as u64 + stats.merged == stats.memories;
        (all, explained.unembedded)
    };
    // Both take traffic until the new one has all memories, and those that the old one learns go on to it.
    let mut learned = 20;
    eventually(|| {
        for server in [&old, &new] {
            work(server, learned);
            learned += 1;
        }
        (embedder(&new) == "active").then_some(())
    });
    for server in [&old, &new] {
        eventually(|| (explained(server) == (true, 0)).then_some(()));
    }
    assert_eq!(embedder(&old), "active");
    old.terminate();
    assert!(old.ended().success());
    work(&new, learned);
    assert_eq!(explained(&new), (true, 0));
    let mut doctor = reflect();
    doctor.args(["doctor", "--json", "--data", &address]);
    let found = String::from_utf8(doctor.output().unwrap().stdout).unwrap();
    assert!(
        found.contains("all memories are embedded with `model:"),
        "{found}"
    );
}
