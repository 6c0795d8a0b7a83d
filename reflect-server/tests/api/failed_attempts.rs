//! Wrong keys and bootstrap tokens, counted per address.

use std::net::SocketAddr;

use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{Request, StatusCode};
use reflect_server::Settings;
use reflect_types::Scope;

use super::support::{Answer, BOOTSTRAP, PROJECT, Service, at};

/// Failures without a wait.
const FREE: usize = 10;

const GUESSER: &str = "192.0.2.1:4711";

async fn list_from(service: &Service, peer: &str, headers: &[(&str, &str)]) -> Answer {
    let peer: SocketAddr = peer.parse().unwrap();
    let mut request = Request::get(at("/traces")).extension(ConnectInfo(peer));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    service.send(request.body(Body::empty()).unwrap()).await
}

/// The statuses of a burst of wrong keys.
async fn guess(service: &Service, peer: &str, count: usize) -> Vec<StatusCode> {
    let guesses = (0..count).map(async |n| {
        let key = format!("Bearer rf_live_guess{n}_secret");
        let answer = list_from(service, peer, &[("authorization", &key)]).await;
        if answer.status == StatusCode::TOO_MANY_REQUESTS {
            assert_eq!(answer.code(), "rate_limited");
            let wait: u64 = answer.headers["retry-after"]
                .to_str()
                .unwrap()
                .parse()
                .unwrap();
            assert!((1..=300).contains(&wait));
        }
        answer.status
    });
    futures_util::future::join_all(guesses).await
}

fn count(statuses: &[StatusCode], status: StatusCode) -> usize {
    statuses.iter().filter(|found| **found == status).count()
}

#[tokio::test]
async fn burst_of_wrong_keys_is_mostly_429() {
    let service = Service::start().await;
    let statuses = guess(&service, GUESSER, 1_000).await;
    let evaluated = count(&statuses, StatusCode::UNAUTHORIZED);
    // A few more pass if the machine is slow.
    assert!((FREE..FREE + 5).contains(&evaluated), "{evaluated}");
    let refused = count(&statuses, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(evaluated + refused, 1_000);
}

#[tokio::test]
async fn valid_key_works_immediately_from_the_address_of_a_guesser() {
    let service = Service::start().await;
    guess(&service, GUESSER, 100).await;
    // Never used before, and one made meanwhile.
    for _ in 0..2 {
        let key = format!("Bearer {}", service.key(PROJECT, &[Scope::TraceRead]).await);
        let valid = list_from(&service, GUESSER, &[("authorization", &key)]).await;
        assert_eq!(valid.status, StatusCode::OK);
    }
    // Other addresses are not slowed.
    let statuses = guess(&service, "192.0.2.2:4711", 1).await;
    assert_eq!(statuses, [StatusCode::UNAUTHORIZED]);
}

#[tokio::test]
async fn valid_revoked_and_missing_keys_are_not_guesses() {
    let service = Service::start().await;
    let key = service.key(PROJECT, &[Scope::TraceRead]).await;
    let listed = service.get(&at("/api-keys")).await;
    let id = listed.body[0]["id"].as_str().unwrap().to_owned();
    let project = PROJECT.into();
    service
        .app
        .keys()
        .revoke(Some(&project), &id.into())
        .await
        .unwrap();
    let (revoked, master) = (
        format!("Bearer {key}"),
        format!("Bearer {}", service.master),
    );
    for _ in 0..2 * FREE {
        for headers in [&[("authorization", &*revoked)][..], &[]] {
            let refused = list_from(&service, GUESSER, headers).await;
            assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
        }
        let valid = list_from(&service, GUESSER, &[("authorization", &master)]).await;
        assert_eq!(valid.status, StatusCode::OK);
    }
}

#[tokio::test]
async fn burst_of_wrong_bootstrap_tokens_is_mostly_429() {
    let service = Service::start().await;
    let mut evaluated = 0;
    let post = |token: String, peer: &str| {
        let peer: SocketAddr = peer.parse().unwrap();
        Request::post("/v1/bootstrap")
            .extension(ConnectInfo(peer))
            .header("x-bootstrap-token", token)
            .body(Body::from(r#"{"user_id": "ada", "project_id": "p"}"#))
            .unwrap()
    };
    for n in 0..1_000 {
        let answer = service.send(post(format!("guess{n}"), GUESSER)).await;
        evaluated += usize::from(answer.status == StatusCode::UNAUTHORIZED);
        assert!(answer.status == StatusCode::UNAUTHORIZED || answer.code() == "rate_limited");
    }
    assert!((FREE..FREE + 5).contains(&evaluated), "{evaluated}");
    let elsewhere = service
        .send(post(BOOTSTRAP.to_owned(), "192.0.2.2:4711"))
        .await;
    assert_eq!(elsewhere.status, StatusCode::CREATED);
}

#[tokio::test]
async fn clients_behind_a_trusted_proxy_are_counted_apart() {
    let settings = Settings {
        trusted_proxies: vec!["10.0.0.0/8".parse().unwrap()],
        ..Settings::default()
    };
    let service = Service::with(settings).await;
    let guess = async |peer: &str, client: &str| {
        let headers = [
            ("authorization", "Bearer wrong"),
            ("x-forwarded-for", client),
        ];
        list_from(&service, peer, &headers).await.status
    };
    let (mut named, mut forged) = (Vec::new(), Vec::new());
    for n in 0..100 {
        named.push(guess("10.0.0.1:80", "203.0.113.1").await);
        // A header of an untrusted peer does not hide it.
        forged.push(guess(GUESSER, &format!("203.0.113.{n}")).await);
    }
    for statuses in [named, forged] {
        let evaluated = count(&statuses, StatusCode::UNAUTHORIZED);
        assert!((FREE..FREE + 5).contains(&evaluated), "{evaluated}");
    }
    let second = guess("10.0.0.1:80", "203.0.113.200").await;
    assert_eq!(second, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn served_connections_have_an_address() {
    let service = Service::start().await;
    let live = service.listen().await;
    let client = reqwest::Client::new();
    let mut statuses = Vec::new();
    for _ in 0..2 * FREE {
        let request = client.get(format!("{}{}", live.url, at("/traces")));
        let answer = request.bearer_auth("wrong").send().await.unwrap();
        statuses.push(answer.status());
    }
    assert!(count(&statuses, StatusCode::TOO_MANY_REQUESTS) > 0);
}
