//! A browser, through chromedriver.

use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder, Locator};
use http::Method;
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use url::{ParseError, Url};

const PATIENCE: Duration = Duration::from_secs(20);

/// A browser with one window.
pub(crate) struct Browser {
    pub(crate) page: Client,
    chromedriver: Child,
}

/// A command of chromedriver that the standard does not have.
#[derive(Debug)]
struct Extension {
    path: &'static str,
    body: Value,
}

impl WebDriverCompatibleCommand for Extension {
    fn endpoint(&self, base: &Url, session: Option<&str>) -> Result<Url, ParseError> {
        base.join(&format!(
            "session/{}/{}",
            session.unwrap_or_default(),
            self.path
        ))
    }

    fn method_and_body(&self, _: &Url) -> (Method, Option<String>) {
        (Method::POST, Some(self.body.to_string()))
    }
}

impl Browser {
    pub(crate) async fn open() -> Self {
        let port = {
            let free = TcpListener::bind("127.0.0.1:0").unwrap();
            free.local_addr().unwrap().port()
        };
        let chromedriver = Command::new("chromedriver")
            .arg(format!("--port={port}"))
            .process_group(0)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        assert!(
            chromedriver.is_ok(),
            "chromedriver cannot be started: install chromium and chromium-driver"
        );
        let chromedriver = chromedriver.unwrap();
        let capabilities = json!({
            "goog:loggingPrefs": {"browser": "ALL"},
            "goog:chromeOptions": {"args": [
                "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                "--disable-background-networking", "--hide-scrollbars", "--window-size=1400,900",
                // A click must not wait for the end of a scroll.
                "--force-prefers-reduced-motion"
            ]}
        });
        let Value::Object(capabilities) = capabilities else {
            unreachable!()
        };
        let address = format!("http://127.0.0.1:{port}");
        let start = Instant::now();
        let page = loop {
            let connector = HttpConnector::new();
            let mut builder = ClientBuilder::new(connector);
            builder.capabilities(capabilities.clone());
            match builder.connect(&address).await {
                Ok(page) => break page,
                Err(error) => assert!(start.elapsed() < PATIENCE, "{error}"),
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        };
        let browser = Self { page, chromedriver };
        browser.resize(1400, 900).await;
        browser
    }

    pub(crate) async fn go(&self, url: &str) {
        self.page.goto(url).await.unwrap();
    }

    /// The value of a script's `return`.
    pub(crate) async fn run(&self, script: &str) -> Value {
        self.page.execute(script, Vec::new()).await.unwrap()
    }

    /// Waits until a script returns true.
    pub(crate) async fn until(&self, script: &str) {
        let start = Instant::now();
        while self.run(script).await != Value::Bool(true) {
            let url = self.page.current_url().await.unwrap();
            assert!(start.elapsed() < PATIENCE, "never true on {url}: {script}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// The visible text of the page.
    pub(crate) async fn text(&self) -> String {
        let text = self.run("return document.body.innerText").await;
        text.as_str().unwrap().to_owned()
    }

    /// Presses keys, one after the other.
    pub(crate) async fn press(&self, keys: &str) {
        let presses: Vec<Value> = keys
            .chars()
            .flat_map(|key| {
                let action = |kind: &str| json!({"type": kind, "value": key});
                [action("keyDown"), action("keyUp")]
            })
            .collect();
        let source = json!({"type": "key", "id": "keyboard", "actions": presses});
        self.extend("actions", json!({"actions": [source]})).await;
    }

    pub(crate) async fn click(&self, selector: &str) {
        let found = self.page.find(Locator::Css(selector)).await.unwrap();
        found.click().await.unwrap();
    }

    pub(crate) async fn fill(&self, selector: &str, text: &str) {
        let found = self.page.find(Locator::Css(selector)).await.unwrap();
        found.clear().await.unwrap();
        found.send_keys(text).await.unwrap();
    }

    pub(crate) async fn resize(&self, width: u32, height: u32) {
        let params = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600
        });
        self.devtools("Emulation.setDeviceMetricsOverride", &params)
            .await;
    }

    pub(crate) async fn scheme(&self, scheme: &str) {
        let feature = json!({"name": "prefers-color-scheme", "value": scheme});
        self.devtools(
            "Emulation.setEmulatedMedia",
            &json!({"features": [feature]}),
        )
        .await;
    }

    async fn devtools(&self, command: &str, params: &Value) {
        let body = json!({"cmd": command, "params": params});
        self.extend("goog/cdp/execute", body).await;
    }

    /// Errors that the console of the browser has shown since the last call.
    pub(crate) async fn errors(&self) -> Vec<String> {
        let log = self.extend("se/log", json!({"type": "browser"})).await;
        let entries = log.as_array().unwrap().iter();
        let severe = entries.filter(|entry| entry["level"] == "SEVERE");
        severe.map(|entry| entry["message"].to_string()).collect()
    }

    /// Keeps a picture of the page in the target folder.
    pub(crate) async fn picture(&self, name: &str) {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("screenshots");
        std::fs::create_dir_all(&folder).unwrap();
        let picture = self.page.screenshot().await.unwrap();
        std::fs::write(folder.join(format!("{name}.png")), picture).unwrap();
    }

    async fn extend(&self, path: &'static str, body: Value) -> Value {
        self.page.issue_cmd(Extension { path, body }).await.unwrap()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The browser is of the driver's process group, and would outlive it.
        let group = format!("-{}", self.chromedriver.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
        let _ = self.chromedriver.wait();
    }
}
