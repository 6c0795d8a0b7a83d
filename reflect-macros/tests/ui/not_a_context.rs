use reflect_sdk::reflect_trace;

#[reflect_trace]
fn answer(question: &str, customer: &str) -> String {
    question.to_owned() + customer
}

#[reflect_trace]
async fn answer_later(question: String, customer: &str) -> String {
    question + customer
}

#[reflect_trace]
fn answer_any(question: impl ToString) -> String {
    question.to_string()
}

struct Question;

#[reflect_trace]
async fn does_not_look(_question: Question, customer: &str) -> String {
    customer.to_owned()
}

fn main() {
    answer("callers get no error", "acme");
    drop(answer_later("callers get no error".to_owned(), "acme"));
    answer_any("callers get no error");
}
