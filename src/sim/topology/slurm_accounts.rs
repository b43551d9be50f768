//! Accounts, users and qualities of service of a script for `sacctmgr`, or of what `sacctmgr dump` writes, as far as
//! ranks of jobs depend on them.
//!
//! The real `sacctmgr` judges a script where a real Slurm runs; here, lines that state other things are passed over.

use std::collections::BTreeMap;

use super::slurm_conf::conf_lines;
use crate::grid::{AccountShares, QosLevel, Shares, UserShares};
use crate::settings::units::MILLION;
use crate::workload::sbatch::split_words;

/// Accounts, users and qualities of service, in their order.
#[derive(Clone, Debug, PartialEq)]
pub struct SlurmAccounts {
    pub qos_levels: Vec<QosLevel>,
    pub accounts: Vec<AccountShares>,
    pub users: Vec<UserShares>,
}

/// Options of a command, in lower case: `name` has the words without a key, too.
type Options = BTreeMap<String, String>;

impl SlurmAccounts {
    pub fn of_script(script: &str) -> SlurmAccounts {
        // Slurm has it from the start.
        let normal = QosLevel { name: "normal".to_owned(), priority: 0, usage_factor_millionths: MILLION };
        let mut accounts = SlurmAccounts { qos_levels: vec![normal], accounts: Vec::new(), users: Vec::new() };
        let mut parent = String::new();
        for line in conf_lines("", script) {
            match line.text.split_once(" - ") {
                Some((kind, rest)) if kind.chars().all(char::is_alphabetic) => {
                    accounts.read_dumped(kind, rest, &mut parent);
                }
                _ => accounts.read_command(&line.text),
            }
        }
        accounts.order_accounts();
        accounts
    }

    /// Reads a line of a dump: `User - 'ann':DefaultAccount='lab':Fairshare=1`. Members of an account follow a line
    /// that names it as `Parent`.
    fn read_dumped(&mut self, kind: &str, rest: &str, parent: &mut String) {
        let mut parts = rest.split(':');
        let name = strip_quotes(parts.next().unwrap_or_default());
        let pairs = parts.filter_map(|part| part.split_once('='));
        let mut options: Options = pairs.map(|(key, value)| (key.to_lowercase(), strip_quotes(value))).collect();
        options.insert("name".to_owned(), name.clone());
        match kind {
            "Parent" => *parent = if name == ROOT { String::new() } else { name },
            "Account" => {
                options.insert("parent".to_owned(), parent.clone());
                self.add_accounts(&options);
            }
            "User" => {
                options.insert("account".to_owned(), parent.clone());
                self.add_users(&options);
            }
            _ => {}
        }
    }

    fn read_command(&mut self, text: &str) {
        let words = split_words(text).unwrap_or_default();
        let [verb, noun, rest @ ..] = &words[..] else { return };
        let noun = noun.to_lowercase();
        match (verb.to_lowercase().as_str(), noun.trim_end_matches('s')) {
            ("add" | "create", "qo") => self.add_qos(&read_options(rest)),
            ("add" | "create", "account" | "acct") => self.add_accounts(&read_options(rest)),
            ("add" | "create", "user") => self.add_users(&read_options(rest)),
            ("modify" | "update", noun) => self.modify(noun, rest),
            ("remove" | "delete", noun) => self.remove(noun, &read_options(rest)),
            _ => {}
        }
    }

    fn add_qos(&mut self, options: &Options) {
        for name in names_of(options, "name") {
            let mut level = QosLevel { name, priority: 0, usage_factor_millionths: MILLION };
            set_qos(&mut level, options);
            self.qos_levels.retain(|other| other.name != level.name);
            self.qos_levels.push(level);
        }
    }

    fn add_accounts(&mut self, options: &Options) {
        for name in names_of(options, "name") {
            if name == ROOT || self.accounts.iter().any(|account| account.name == name) {
                continue;
            }
            let parent = options.get("parent").filter(|parent| *parent != ROOT).cloned().unwrap_or_default();
            self.accounts.push(AccountShares { name, parent, shares: shares_of(options).unwrap_or(Shares::Count(1)) });
        }
    }

    fn add_users(&mut self, options: &Options) {
        let usual = names_of(options, "defaultaccount");
        let others = names_of(options, "account");
        for name in names_of(options, "name") {
            for account in usual.iter().chain(others.iter().filter(|account| !usual.contains(account))) {
                let account = if account == ROOT { String::new() } else { account.clone() };
                let is_there = self.users.iter().any(|user| user.name == name && user.account == account);
                if name == ROOT && account.is_empty() || is_there {
                    continue;
                }
                let shares = shares_of(options).unwrap_or(Shares::Count(1));
                let qos = options.get("defaultqos").cloned().unwrap_or_default();
                self.users.push(UserShares { name: name.clone(), account, shares, qos });
            }
        }
    }

    /// Carries out `modify NOUN where ... set ...`, in either order. Without conditions, all are meant.
    fn modify(&mut self, noun: &str, words: &[String]) {
        let (conditions, values) = split_clauses(words);
        let values = read_options(&values);
        let conditions = read_options(&conditions);
        let mut names = names_of(&conditions, "name");
        names.extend(names_of(&values, "name"));
        match noun {
            "qo" => {
                let levels = self.qos_levels.iter_mut().filter(|level| is_among(&level.name, &names));
                levels.for_each(|level| set_qos(level, &values));
            }
            "account" | "acct" => {
                for account in self.accounts.iter_mut().filter(|account| is_among(&account.name, &names)) {
                    account.shares = shares_of(&values).unwrap_or(account.shares);
                    let parent = values.get("parent").map(|parent| if parent == ROOT { "" } else { parent });
                    account.parent = parent.map_or(account.parent.clone(), str::to_owned);
                }
            }
            "user" => {
                let accounts = names_of(&conditions, "account");
                let users = self.users.iter_mut().filter(|user| is_among(&user.name, &names));
                for user in users.filter(|user| is_among(&user.account, &accounts)) {
                    user.shares = shares_of(&values).unwrap_or(user.shares);
                    user.qos = values.get("defaultqos").cloned().unwrap_or(user.qos.clone());
                }
            }
            _ => {}
        }
    }

    fn remove(&mut self, noun: &str, options: &Options) {
        let names = names_of(options, "name");
        let accounts = names_of(options, "account");
        match noun {
            "qo" => self.qos_levels.retain(|level| !names.contains(&level.name)),
            "account" | "acct" => {
                self.accounts.retain(|account| !names.contains(&account.name));
                self.users.retain(|user| !names.contains(&user.account));
            }
            "user" => self.users.retain(|user| {
                !names.contains(&user.name) || !(accounts.is_empty() || accounts.contains(&user.account))
            }),
            _ => {}
        }
    }

    /// Puts parents before their children, and all whose parent is not there below the root.
    fn order_accounts(&mut self) {
        let mut rest = std::mem::take(&mut self.accounts);
        let names: Vec<String> = rest.iter().map(|account| account.name.clone()).collect();
        for account in &mut rest {
            if !names.contains(&account.parent) {
                account.parent.clear();
            }
        }
        while !rest.is_empty() {
            let (ready, others): (Vec<_>, Vec<_>) = rest.into_iter().partition(|account| {
                account.parent.is_empty() || self.accounts.iter().any(|other| other.name == account.parent)
            });
            if ready.is_empty() {
                // A circle, which sacctmgr does not allow.
                break;
            }
            self.accounts.extend(ready);
            rest = others;
        }
        let names: Vec<&String> = self.accounts.iter().map(|account| &account.name).collect();
        self.users.retain(|user| user.account.is_empty() || names.contains(&&user.account));
    }
}

const ROOT: &str = "root";

/// True if a name is among those of a condition; a condition without names is about all.
fn is_among(name: &str, names: &[String]) -> bool {
    names.is_empty() || names.iter().any(|other| other == name)
}

fn strip_quotes(word: &str) -> String {
    word.trim_matches(|c| c == '\'' || c == '"').to_owned()
}

/// Options of a command with one name for each: `Names=a,b` is `name`, and so are words without a key.
fn read_options(words: &[String]) -> Options {
    let mut options = Options::new();
    for word in words {
        let (key, value) = word.split_once('=').unwrap_or(("name", word));
        let key = key.to_lowercase();
        let key = match key.trim_end_matches(['+', '-']) {
            "names" | "user" | "users" | "qos" | "set" | "where" if !word.contains('=') => "name",
            "names" | "users" | "user" => "name",
            "accounts" | "acct" | "accts" => "account",
            "fairshares" | "share" | "shares" => "fairshare",
            "defaultacct" => "defaultaccount",
            other => other,
        };
        options.insert(key.to_owned(), strip_quotes(value));
    }
    options
}

/// The words of the clauses `where` and `set` of a command.
fn split_clauses(words: &[String]) -> (Vec<String>, Vec<String>) {
    let mut conditions = Vec::new();
    let mut values = Vec::new();
    let mut sets = false;
    for word in words {
        match word.to_lowercase().as_str() {
            "where" => sets = false,
            "set" => sets = true,
            _ if sets => values.push(word.clone()),
            _ => conditions.push(word.clone()),
        }
    }
    (conditions, values)
}

fn names_of(options: &Options, key: &str) -> Vec<String> {
    let names = options.get(key).map(String::as_str).unwrap_or_default();
    names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn shares_of(options: &Options) -> Option<Shares> {
    let text = options.get("fairshare")?;
    if text.eq_ignore_ascii_case("parent") {
        return Some(Shares::Parent);
    }
    text.parse().ok().map(Shares::Count)
}

fn set_qos(level: &mut QosLevel, options: &Options) {
    if let Some(priority) = options.get("priority").and_then(|priority| priority.parse().ok()) {
        level.priority = priority;
    }
    if let Some(factor) = options.get("usagefactor").and_then(|factor| factor.parse::<f64>().ok()) {
        level.usage_factor_millionths = (factor.clamp(0.0, 1e6) * MILLION as f64).round() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(script: &str) -> String {
        let SlurmAccounts { qos_levels, accounts, users } = SlurmAccounts::of_script(script);
        let levels = qos_levels.iter().map(|level| {
            format!("{} {} {}", level.name, level.priority, level.usage_factor_millionths / (MILLION / 10))
        });
        let shares = |shares: Shares| if let Shares::Count(shares) = shares { shares as i64 } else { -1 };
        let accounts =
            accounts.iter().map(|account| format!("{}<{} {}", account.name, account.parent, shares(account.shares)));
        let users =
            users.iter().map(|user| format!("{}@{} {} {}", user.name, user.account, shares(user.shares), user.qos));
        levels.chain(accounts).chain(users).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_script_is_read_line_by_line() {
        let script = "\
# QOS
modify QOS set normal Priority=5
add QOS Name=high,low Priority=100 UsageFactor=0.5
modify qos where name=low set priority=7
add qos gone
remove QOS where Name=gone
add cluster Name=york Fairshare=1 QOS=normal,high
add account name=team parent=lab fairshare=3
add account lab,chem Fairshare=parent
modify account where name=chem set fairshare=20
add user name=ann,bob DefaultAccount=lab Account=lab,chem MaxSubmitJobs=3 defaultqos=high
add user root account=lab
modify user where name=bob account=chem set fairshare=9
modify user set qoslevel=\"normal,high\"
add user cid account=none
";
        assert_eq!(
            shown(script),
            "normal 5 10\nhigh 100 5\nlow 7 5\nlab< -1\nchem< 20\nteam<lab 3\n\
             ann@lab 1 high\nann@chem 1 high\nbob@lab 1 high\nbob@chem 9 high\nroot@lab 1 "
        );
    }

    #[test]
    fn a_dump_is_read_member_by_member() {
        let dump = "\
Cluster - 'york':Fairshare=1:QOS='normal'
Parent - 'root'
User - 'root':DefaultAccount='root':AdminLevel='Administrator':Fairshare=1
Account - 'lab':Description='a: b':Organization='x':Fairshare=10
Parent - 'lab'
Account - 'team':Fairshare=2
User - 'ann':DefaultAccount='lab':Fairshare=4
Parent - 'team'
User - 'ann':Fairshare=parent
";
        assert_eq!(shown(dump), "normal 0 10\nlab< 10\nteam<lab 2\nann@lab 4 \nann@team -1 ");
    }
}
