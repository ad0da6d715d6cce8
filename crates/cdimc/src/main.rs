//! The command `cdimc`: clusters incomplete multi-view data in a user's files.

fn main() -> std::process::ExitCode {
    let program = std::env::current_exe().map_or_else(|_| "cdimc".into(), Into::into);
    cdimc::command::main(vec![program], std::env::args_os().skip(1).collect()).into()
}
