//! Table `multifactor` of a site: weights and accounts of the order of the same name.

use std::collections::BTreeSet;

use crate::grid::{AccountShares, Multifactor, PartitionFactor, QosLevel, Shares, UserShares};
use crate::settings::limits::CORES_MAX;
use crate::settings::units::MILLION;
use crate::settings::{
    Field, Flag, Form, FormExt, Key, Layout, Millionths, POSITIVE_SPAN, SPAN, Shape, Text, TomlPage, Unless, Walk, key,
    quote_text,
};
use crate::time::Span;

/// Largest weight: the priority is a number of 32 bits.
const WEIGHT_MAX: u64 = u32::MAX as u64;
/// Shortest period: in Slurm it is a number of minutes.
const MINUTE: Span = Span::from_secs(60);

/// Walks the settings of the order.
pub fn walk_multifactor(rules: &mut Multifactor, w: &mut dyn Walk) {
    let Multifactor { age, fair_share, job_size, partition, qos, .. } = rules;
    let weights: [(Key, &mut u64); 5] = [
        (key("age", "weight of the wait, as a part of `max_age`"), age),
        (key("fair_share", "weight of the fair share of the user"), fair_share),
        (key("job_size", "weight of the size"), job_size),
        (key("partition", "weight of the factor of the partition"), partition),
        (key("qos", "weight of the priority of the quality of service"), qos),
    ];
    for (key, weight) in weights {
        w.set(key, weight, 0..=WEIGHT_MAX);
    }
    walk_times(rules, w);
    w.set(key("fair_tree", "true for the fair tree, false for the classic formula"), &mut rules.fair_tree, Flag);
    let dampening = key("dampening", "divisor of usage in the classic formula");
    w.set(dampening.usual("`1`"), &mut rules.dampening, Unless(1..=u32::from(u16::MAX), 1));
    w.set(key("favor_small", "true if small jobs precede large ones"), &mut rules.favor_small, Flag);
    let about = "true if sizes are divided by walltimes";
    w.set(key("relative_to_time", about).usual("`false`"), &mut rules.relative_to_time, Unless(Flag, false));
    let nodes = key("nodes", "number of nodes, which share the cores of the site, for the size of jobs");
    w.set(nodes.usual("a node a core"), &mut rules.nodes, Unless(1..=CORES_MAX, 0));
    walk_lists(rules, w);
    if let Some(fields) = w.written_fields()
        && rules.weights() == 0
    {
        let weights = "age, fair_share, job_size, partition or qos";
        fields.complain(format!("expected a weight above 0 ({weights}): without one, all jobs have one rank"));
    }
}

/// Settings of the order as the keys of its table.
pub fn multifactor_text(rules: &Multifactor) -> String {
    let mut page = TomlPage::without_comments();
    walk_multifactor(&mut rules.clone(), &mut page);
    page.into_text()
}

fn walk_times(rules: &mut Multifactor, w: &mut dyn Walk) {
    w.set(key("max_age", "the wait from which on age does not grow"), &mut rules.max_age, POSITIVE_SPAN);
    let half_life = SPAN.with_condition("0 s, for usage that counts forever, or at least 1 min", |span: &Span| {
        *span == Span::ZERO || *span >= MINUTE
    });
    w.set(key("half_life", "the time after which usage counts half"), &mut rules.half_life, half_life);
    let period = SPAN.with_condition("at least 1 min", |span: &Span| *span >= MINUTE);
    let about = "the period after which usage is charged and jobs are ranked anew";
    w.set(key("calc_period", about), &mut rules.calc_period, period);
}

const NAME: &str = "a name";
const PARTITION: &str = "a partition such as { name = \"debug\", factor = 10 }";
const LEVEL: &str = "a quality of service such as { name = \"high\", priority = 100 }";
const ACCOUNT: &str = "an account such as { name = \"physics\", shares = 10 }";
const MEMBER: &str = "a user such as { name = \"ann\", account = \"physics\" }";

fn walk_lists(rules: &mut Multifactor, w: &mut dyn Walk) {
    let partitions = key("partitions", "").means("partitions; the first is that of jobs that name none");
    let partitions = partitions.expects("a list of partitions").each(PARTITION);
    w.rows(partitions, Layout::Lines, &mut rules.partitions, PartitionFactor::default, |partition, w| {
        w.set(key("name", "").need(NAME), &mut partition.name, Text(NAME));
        let about = "factor of its jobs, relative to the largest of all partitions";
        w.set(key("factor", "").means(about).need("a number"), &mut partition.factor, 0..=u32::from(u16::MAX));
        let tier = key("tier", "").means("jobs of a higher tier precede all others").usual("`0`");
        w.set(tier, &mut partition.tier, Unless(0..=u32::from(u16::MAX), 0));
    });
    let levels = key("qos_levels", "").means("qualities of service");
    let levels = levels.expects("a list of qualities of service").each(LEVEL);
    w.rows(levels, Layout::Lines, &mut rules.qos_levels, QosLevel::default, |level, w| {
        w.set(key("name", "").need(NAME), &mut level.name, Text(NAME));
        let about = "priority of its jobs, relative to the largest of all";
        w.set(key("priority", "").means(about).need("a number"), &mut level.priority, 0..=u32::MAX);
        let usage = key("usage_factor", "").means("factor of the usage of its jobs").usual("`1.0`");
        w.set(usage, &mut level.usage_factor_millionths, Unless(Millionths::to(1_000_000), MILLION));
    });
    let accounts = key("accounts", "").means("accounts; those that jobs name beside them have one share of the root");
    let accounts = accounts.expects("a list of accounts").each(ACCOUNT);
    w.rows(accounts, Layout::Lines, &mut rules.accounts, AccountShares::default, |account, w| {
        w.set(key("name", "").need(NAME), &mut account.name, Text(NAME));
        let parent = key("parent", "").means("the account that it belongs to").usual("the root");
        w.set(parent, &mut account.parent, Unless(AccountName, String::new()));
        walk_shares(&mut account.shares, w);
    });
    let users = key("users", "").means("users; those of other jobs have one share of the account of the job");
    let users = users.expects("a list of users").each(MEMBER);
    w.rows(users, Layout::Lines, &mut rules.users, UserShares::default, |user, w| {
        w.set(key("name", "").need(NAME), &mut user.name, Text(NAME));
        let about = "the account of the user; the first one is that of jobs that name none";
        let account = key("account", "").means(about).usual("the root");
        w.set(account, &mut user.account, Unless(AccountName, String::new()));
        walk_shares(&mut user.shares, w);
        let qos = key("qos", "").means("the quality of service of jobs that name none").usual("none");
        w.set(qos, &mut user.qos, Unless(Text(NAME), String::new()));
    });
    check_lists(rules, w);
}

fn walk_shares(shares: &mut Shares, w: &mut dyn Walk) {
    let about = "shares among those of the same account; `\"parent\"` for usage and shares of the account above";
    w.set(key("shares", "").means(about).usual("`1`"), shares, Unless(SharesForm, Shares::Count(1)));
}

/// Checks that accounts exist once and lead to the root.
fn check_lists(rules: &Multifactor, w: &mut dyn Walk) {
    let Some(fields) = w.written_fields() else { return };
    let mut known = BTreeSet::from(["root", ""]);
    let accounts = fields.get("accounts");
    let rows = accounts.as_ref().and_then(Field::list_items).unwrap_or_default();
    for (account, row) in rules.accounts.iter().zip(&rows) {
        if !known.contains(account.parent.as_str()) {
            row.complain(format!("expected a parent that is listed before, found {}", quote_text(&account.parent)));
        }
        if !account.name.is_empty() && !known.insert(&account.name) {
            row.complain(format!("account {} is listed twice", quote_text(&account.name)));
        }
    }
    let users = fields.get("users");
    let rows = users.as_ref().and_then(Field::list_items).unwrap_or_default();
    let mut members = BTreeSet::new();
    for (user, row) in rules.users.iter().zip(&rows) {
        if !known.contains(user.account.as_str()) {
            row.complain(format!("expected an account of `accounts`, found {}", quote_text(&user.account)));
        }
        if !user.name.is_empty() && !members.insert((&user.name, &user.account)) {
            row.complain(format!("user {} is listed twice in one account", quote_text(&user.name)));
        }
    }
}

/// Form of the name of an account that is listed, or of the root.
struct AccountName;

impl Form<String> for AccountName {
    fn read_value(&self, field: &Field<'_>) -> Option<String> {
        Text(NAME).read_value(field)
    }

    fn toml_text(&self, value: &String) -> Option<String> {
        Some(quote_text(value))
    }

    fn value_shape(&self) -> Shape {
        Shape::Text { what: "the name of an account of `accounts`", pattern: None, example: "root" }
    }
}

/// Form of shares: a number, or `parent`.
struct SharesForm;

const SHARES: &str = "a number of shares, or \"parent\"";

impl Form<Shares> for SharesForm {
    fn read_value(&self, field: &Field<'_>) -> Option<Shares> {
        if !field.is_text() {
            return field.whole_number(0..=u32::from(u16::MAX)).map(Shares::Count);
        }
        match field.text(SHARES)? {
            "parent" => Some(Shares::Parent),
            _ => field.report_wrong(SHARES),
        }
    }

    fn toml_text(&self, value: &Shares) -> Option<String> {
        Some(match value {
            Shares::Count(shares) => shares.to_string(),
            Shares::Parent => quote_text("parent"),
        })
    }

    fn value_shape(&self) -> Shape {
        Shape::Free {
            what: SHARES,
            example: "10",
            json: r#"{ "anyOf": [{ "type": "integer", "minimum": 0, "maximum": 65535 }, { "const": "parent" }] }"#,
        }
    }
}
