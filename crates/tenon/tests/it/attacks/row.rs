//! One row of the table: what is there, what the model calls, what must be true afterwards.

/// A row. Besides what it says, every row is held to what [`super::scene`] checks of a session.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) name: &'static str,
    /// A script of ours that makes what the row needs, in the row's folder, before tenon starts.
    pub(super) prepare: &'static str,
    pub(super) calls: &'static [Call],
    /// What the results must say, and must not.
    pub(super) prints: &'static [&'static str],
    pub(super) never: &'static [&'static str],
    /// A script of ours that succeeds if the row holds, in the row's folder, after tenon ended.
    pub(super) after: &'static str,
    /// Flags for tenon. Their row has a session of its own.
    pub(super) flags: &'static [&'static str],
    /// The folder of the session, beneath the row's own; where there is none, it is that of all rows.
    pub(super) root: Option<&'static str>,
    /// In tenon's environment.
    pub(super) given: &'static [(&'static str, &'static str)],
    pub(super) ending: Ending,
    /// Needs a session of its own.
    pub(super) alone: bool,
    /// Too long for every run: minutes, or gigabytes.
    pub(super) whole: bool,
    /// What is not promised shows only where a race is won: on a busy machine it may hold.
    pub(super) may_hold: bool,
    /// Programs without which the row cannot run.
    pub(super) needs: &'static [&'static str],
    /// What happens instead where it is not promised: with namespaces by bubblewrap, without
    /// namespaces, or nowhere.
    pub(super) not_in_b: Option<Exception>,
    pub(super) not_in_c: Option<Exception>,
    pub(super) nowhere: Option<Exception>,
}

/// A row that is not promised.
#[derive(Debug, Clone, Copy)]
pub(super) struct Exception {
    /// As docs/security.md says it.
    pub(super) reason: &'static str,
    /// In what the checks say there; a row that holds after all must lose its mark.
    pub(super) shows: &'static str,
}

/// A call of the model's. `@TOP@` and the like are replaced in what is typed and in arguments; a
/// script has them as variables.
#[derive(Debug, Clone, Copy)]
pub(super) enum Call {
    /// `bash` with a script file, so that nothing but the walls judges what it does.
    Script(&'static str),
    /// The same in the background.
    Job(&'static str),
    /// `bash` with this very text.
    Typed(&'static str),
    /// A tool with these arguments, as JSON.
    Tool(&'static str, &'static str),
}

/// How tenon's run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    ByItself,
    /// Once the file `ready` is in the row's folder.
    Signal(i32),
}

impl Row {
    pub(super) const fn prepare(self, prepare: &'static str) -> Self {
        Self { prepare, ..self }
    }

    pub(super) const fn prints(self, prints: &'static [&'static str]) -> Self {
        Self { prints, ..self }
    }

    pub(super) const fn never(self, never: &'static [&'static str]) -> Self {
        Self { never, ..self }
    }

    pub(super) const fn after(self, after: &'static str) -> Self {
        Self { after, ..self }
    }

    pub(super) const fn flags(self, flags: &'static [&'static str]) -> Self {
        Self { flags, alone: true, ..self }
    }

    pub(super) const fn within(self, root: &'static str) -> Self {
        Self { root: Some(root), alone: true, ..self }
    }

    pub(super) const fn given(self, given: &'static [(&'static str, &'static str)]) -> Self {
        Self { given, alone: true, ..self }
    }

    pub(super) const fn ended_by(self, signal: i32) -> Self {
        Self { ending: Ending::Signal(signal), alone: true, ..self }
    }

    pub(super) const fn alone(self) -> Self {
        Self { alone: true, ..self }
    }

    pub(super) const fn by_a_race(self) -> Self {
        Self { may_hold: true, ..self }
    }

    pub(super) const fn whole(self) -> Self {
        Self { whole: true, alone: true, ..self }
    }

    pub(super) const fn needs(self, needs: &'static [&'static str]) -> Self {
        Self { needs, ..self }
    }

    pub(super) const fn not_in_b(self, reason: &'static str, shows: &'static str) -> Self {
        Self { not_in_b: Some(Exception { reason, shows }), ..self }
    }

    pub(super) const fn not_in_c(self, reason: &'static str, shows: &'static str) -> Self {
        Self { not_in_c: Some(Exception { reason, shows }), ..self }
    }

    pub(super) const fn nowhere(self, reason: &'static str, shows: &'static str) -> Self {
        Self { nowhere: Some(Exception { reason, shows }), ..self }
    }
}

pub(super) const fn row(name: &'static str, calls: &'static [Call]) -> Row {
    Row {
        name,
        prepare: "",
        calls,
        prints: &[],
        never: &[],
        after: "",
        flags: &[],
        root: None,
        given: &[],
        ending: Ending::ByItself,
        alone: false,
        whole: false,
        may_hold: false,
        needs: &[],
        not_in_b: None,
        not_in_c: None,
        nowhere: None,
    }
}

/// A script that must fail: it is `refused`, or something is `BROKEN`. Which program was not there is
/// printed, for then that is why it failed.
macro_rules! attack {
    ($name:literal, $script:expr) => {
        $crate::attacks::row::row(
            $name,
            &[$crate::attacks::row::Call::Script(concat!(
                "{ ",
                $script,
                "\n} >/dev/null 2>\"${said:=$PWD/said}\" && { echo BROKEN; cat \"$said\"; } || ",
                "{ grep -sE 'command not found$|failed to run command' \"$said\"; echo refused; }"
            ))],
        )
        .prints(&["refused"])
    };
}

/// A script that may do what it likes; what becomes of it is checked afterwards.
macro_rules! runs {
    ($name:literal, $script:expr) => {
        $crate::attacks::row::row(
            $name,
            &[$crate::attacks::row::Call::Script(concat!($script, "\necho end"))],
        )
        .prints(&["end"])
    };
}

/// Python with the C library at hand: `call(number, ...)` is a system call, `ok` says whether it
/// was refused as the walls refuse.
macro_rules! system_call {
    ($name:literal, $code:literal) => {
        $crate::attacks::row::row(
            $name,
            &[$crate::attacks::row::Call::Script(concat!(
                "python3 - <<'E'\n",
                "import ctypes, os, sys, socket, struct, errno\n",
                "libc = ctypes.CDLL(None, use_errno=True)\n",
                "def call(*a):\n",
                "    return libc.syscall(*[ctypes.c_long(x) if isinstance(x, int) else x for x in a])\n",
                "def blocked(r): return r == -1 and ctypes.get_errno() in (errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EBUSY)\n",
                "def closed(f):\n",
                "    try: f()\n",
                "    except OSError: return True\n",
                "    return False\n",
                "print('refused' if ", $code, " else 'BROKEN')\n",
                "E"
            ))],
        )
        .prints(&["refused"])
        .needs(&["python3"])
    };
}

/// One call of a file tool.
macro_rules! tool {
    ($name:literal, $tool:literal, $arguments:expr) => {
        $crate::attacks::row::row($name, &[$crate::attacks::row::Call::Tool($tool, $arguments)])
    };
}

pub(super) use {attack, runs, system_call, tool};
