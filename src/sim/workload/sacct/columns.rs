//! Columns of `sacct`: their names, the form of their values, and the layout of a dump.

use super::SacctError;
use super::values;
use crate::near::nearest_name;

/// Form of the values of a column. All but texts tell that a piece of a line cannot belong to the column, so
/// they anchor the texts between them, in which nothing is escaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Any text, with delimiters and line feeds in it.
    Text,
    /// A text in one line, which may have delimiters.
    Path,
    /// Words in one line, without a delimiter.
    Words,
    /// One word, or nothing.
    Name,
    /// Id of a job or step; never empty.
    Id,
    /// A number, mostly with a unit, or nothing.
    Count,
    Moment,
    Duration,
    /// A state such as `COMPLETED`; never empty.
    State,
    /// Resources such as `cpu=12,mem=33600M`, or nothing.
    Resources,
    /// An exit code such as `0:15`, or nothing.
    ExitCode,
    /// The end of a line that ends with a delimiter.
    Nothing,
}

impl Form {
    /// True if a value may have delimiters, so that it is in several pieces of a line.
    pub fn is_text(self) -> bool {
        matches!(self, Form::Text | Form::Path)
    }

    pub fn accepts(self, piece: &[u8]) -> bool {
        match self {
            Form::Text => true,
            Form::Path | Form::Words => !piece.contains(&b'\n'),
            Form::Name => !piece.iter().any(u8::is_ascii_whitespace),
            Form::Id => values::is_id(piece),
            Form::Count => values::is_count(piece),
            Form::Moment => values::is_moment(piece),
            Form::Duration => values::is_duration(piece),
            Form::State => values::is_state(piece),
            Form::Resources => piece.is_empty() || piece.contains(&b'=') && !piece.iter().any(u8::is_ascii_whitespace),
            Form::ExitCode => piece.iter().all(|byte| byte.is_ascii_digit() || *byte == b':'),
            Form::Nothing => piece.is_empty(),
        }
    }
}

/// Declares the columns that are known, and the places of those that are read.
macro_rules! columns {
    ($($name:literal $form:ident $($role:ident)?;)+) => {
        const KNOWN: &[(&str, Form)] = &[$(($name, Form::$form)),+];

        /// A column whose values make a job.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Role { $($(
            #[doc = concat!("`", $name, "`")]
            $role,
        )?)+ }

        impl Role {
            const ALL: &[(&'static str, Role)] = &[$($(($name, Role::$role),)?)+];

            fn name(self) -> &'static str {
                match self { $($(Role::$role => $name,)?)+ }
            }
        }
    };
}

columns! {
    "Account" Words Account;
    "AdminComment" Text;
    "AllocCPUS" Count AllocCpus;
    "AllocNodes" Count AllocNodes;
    "AllocTRES" Resources AllocTres;
    "AssocID" Count;
    "AveCPU" Duration;
    "AveCPUFreq" Count;
    "AveDiskRead" Count;
    "AveDiskWrite" Count;
    "AvePages" Count;
    "AveRSS" Count;
    "AveVMSize" Count;
    "BlockID" Name;
    "Cluster" Name Cluster;
    "Comment" Text;
    "Constraints" Text Constraints;
    "ConsumedEnergy" Count;
    "ConsumedEnergyRaw" Count;
    "Container" Path;
    "CPUTime" Duration;
    "CPUTimeRAW" Count;
    "DBIndex" Count;
    "DerivedExitCode" ExitCode;
    "Elapsed" Duration Elapsed;
    "ElapsedRaw" Count ElapsedRaw;
    "Eligible" Moment Eligible;
    "End" Moment End;
    "ExitCode" ExitCode;
    "Extra" Text;
    "FailedNode" Text;
    "Flags" Words;
    "GID" Count;
    "Group" Words;
    "JobID" Id JobId;
    "JobIDRaw" Id JobIdRaw;
    "JobName" Text;
    "Layout" Words;
    "Licenses" Words Licenses;
    "MaxDiskRead" Count;
    "MaxDiskReadNode" Name;
    "MaxDiskReadTask" Count;
    "MaxDiskWrite" Count;
    "MaxDiskWriteNode" Name;
    "MaxDiskWriteTask" Count;
    "MaxPages" Count;
    "MaxPagesNode" Name;
    "MaxPagesTask" Count;
    "MaxRSS" Count;
    "MaxRSSNode" Name;
    "MaxRSSTask" Count;
    "MaxVMSize" Count;
    "MaxVMSizeNode" Name;
    "MaxVMSizeTask" Count;
    "McsLabel" Words;
    "MinCPU" Duration;
    "MinCPUNode" Name;
    "MinCPUTask" Count;
    "NCPUS" Count NCpus;
    "NNodes" Count NNodes;
    "NodeList" Words NodeList;
    "NTasks" Count;
    "Partition" Name Partition;
    "Planned" Duration Planned;
    "PlannedCPU" Duration;
    "PlannedCPURAW" Count;
    "Priority" Count;
    "QOS" Name Qos;
    "QOSRAW" Count;
    "QOSREQ" Name;
    "Reason" Words;
    "ReqCPUFreq" Name;
    "ReqCPUFreqGov" Name;
    "ReqCPUFreqMax" Name;
    "ReqCPUFreqMin" Name;
    "ReqCPUS" Count ReqCpus;
    "ReqMem" Count ReqMem;
    "ReqNodes" Count ReqNodes;
    "ReqTRES" Resources ReqTres;
    "Reservation" Words;
    "ReservationId" Count;
    "Reserved" Duration Reserved;
    "Restarts" Count;
    "ResvCPU" Duration;
    "ResvCPURAW" Count;
    "Start" Moment Start;
    "State" State State;
    "StdErr" Path;
    "StdIn" Path;
    "StdOut" Path;
    "Submit" Moment Submit;
    "SubmitLine" Text;
    "Suspended" Duration;
    "SystemComment" Text;
    "SystemCPU" Duration;
    "Timelimit" Duration Timelimit;
    "TimelimitRaw" Duration TimelimitRaw;
    "TotalCPU" Duration TotalCpu;
    "TRESUsageInAve" Resources;
    "TRESUsageInMax" Resources;
    "TRESUsageInMaxNode" Resources;
    "TRESUsageInMaxTask" Resources;
    "TRESUsageInMin" Resources;
    "TRESUsageInMinNode" Resources;
    "TRESUsageInMinTask" Resources;
    "TRESUsageInTot" Resources;
    "TRESUsageOutAve" Resources;
    "TRESUsageOutMax" Resources;
    "TRESUsageOutMaxNode" Resources;
    "TRESUsageOutMaxTask" Resources;
    "TRESUsageOutMin" Resources;
    "TRESUsageOutMinNode" Resources;
    "TRESUsageOutMinTask" Resources;
    "TRESUsageOutTot" Resources;
    "UID" Count;
    "User" Words User;
    "UserCPU" Duration;
    "WCKey" Words;
    "WCKeyID" Count;
    "WorkDir" Path;
}

fn find_known(name: &str) -> Option<(&'static str, Form)> {
    KNOWN.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).copied()
}

/// Names of a list as `sacct --format` takes it: `JobID,JobName%40`.
pub fn listed_names(list: &str) -> Vec<String> {
    let names = list.split(',').map(|name| name.split('%').next().unwrap_or_default().trim().to_owned());
    names.filter(|name| !name.is_empty()).collect()
}

/// The first of these names that is near to that of a column without being one, and that of the column.
pub fn misspelt(names: &[String]) -> Option<(&str, &'static str)> {
    let unknown = names.iter().filter(|name| find_known(name).is_none());
    unknown.into_iter().find_map(|name| Some((name.as_str(), nearest_name(name, KNOWN.iter().map(|known| known.0))?)))
}

/// Columns of a dump, and what stands between them.
#[derive(Clone, Debug)]
pub struct Layout {
    pub delimiter: Vec<u8>,
    pub forms: Vec<Form>,
    /// The column of each role, by the number of the role.
    places: Vec<Option<usize>>,
    /// Column with which a line is certain to begin a record: the id and a time are before it.
    pub certain: usize,
}

impl Layout {
    /// The layout of these columns. With `ends`, a delimiter ends each line (`sacct -p`).
    pub fn new(names: &[String], delimiter: &[u8], ends: bool) -> Layout {
        let mut forms: Vec<Form> =
            names.iter().map(|name| find_known(name).map_or(Form::Text, |known| known.1)).collect();
        let places = Role::ALL.iter().map(|(_, role)| place_of_role(*role, names)).collect();
        let certain = first_of_form(Form::Id, &forms).max(first_of_form(Form::Moment, &forms));
        if ends {
            forms.push(Form::Nothing);
        }
        Layout { delimiter: delimiter.to_vec(), forms, places, certain }
    }

    pub fn place(&self, role: Role) -> Option<usize> {
        self.places[role as usize]
    }

    fn has_any(&self, roles: &[Role]) -> bool {
        roles.iter().any(|role| self.place(*role).is_some())
    }

    /// Fails if a job cannot be made of these columns.
    pub fn check(&self, size: &[Role]) -> Result<(), SacctError> {
        let needs: [&[Role]; 5] = [
            &[Role::JobIdRaw, Role::JobId],
            &[Role::Submit, Role::Eligible],
            &[Role::Start],
            &[Role::ElapsedRaw, Role::Elapsed, Role::End],
            size,
        ];
        match needs.into_iter().find(|roles| !self.has_any(roles)) {
            None => Ok(()),
            Some(roles) => {
                let names: Vec<&str> = roles.iter().map(|role| role.name()).collect();
                Err(SacctError::NoColumn(names.join(" or ")))
            }
        }
    }
}

fn place_of_role(role: Role, names: &[String]) -> Option<usize> {
    names.iter().position(|name| role.name().eq_ignore_ascii_case(name))
}

fn first_of_form(form: Form, forms: &[Form]) -> usize {
    forms.iter().position(|other| *other == form).unwrap_or(forms.len())
}

/// The header of a dump, as its first line has it.
#[derive(Clone, Debug)]
pub struct Header {
    pub names: Vec<String>,
    pub delimiter: String,
    /// True if the line ends with the delimiter.
    pub ends: bool,
}

impl Header {
    /// Reads a line as the names of columns; None if it has not two names that `sacct` knows.
    pub fn parse(line: &str, delimiter: &str) -> Option<Header> {
        let line = line.trim_end_matches('\r');
        let (names, ends) = match line.strip_suffix(delimiter) {
            Some(names) => (names, true),
            None => (line, false),
        };
        let names: Vec<String> = names.split(delimiter).map(|name| name.trim().to_owned()).collect();
        let known = names.iter().filter(|name| find_known(name).is_some()).count();
        (known >= 2).then(|| Header { names, delimiter: delimiter.to_owned(), ends })
    }

    /// Reads a line as the names of columns, with any delimiter between them.
    pub fn detect(line: &str) -> Option<Header> {
        let first = line.find(|c: char| !c.is_ascii_alphanumeric())?;
        find_known(&line[..first])?;
        let rest = &line[first..];
        let between = rest.find(|c: char| c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        Header::parse(line, &rest[..between]).filter(|_| between <= DELIMITER_MAX)
    }
}

/// Longest delimiter, in bytes.
pub const DELIMITER_MAX: usize = 16;
