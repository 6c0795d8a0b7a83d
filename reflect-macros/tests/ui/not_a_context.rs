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
async fn does_not_look(_question: String, customer: &str) -> String {
    customer.to_owned()
}

fn main() {}
