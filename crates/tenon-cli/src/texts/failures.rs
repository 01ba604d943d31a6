//! What ends the program or keeps it from beginning, with what to do about it, and what is said
//! about configuration.

use super::Text;

texts! {
    WithMore: "{said}: {more}", "{said}：{more}";
    // The command line.
    NotStarted: "the program cannot start", "程序无法启动";
    WrongValue: "invalid value '{value}' for '{flag}'", "`{flag}` 的值 `{value}` 无效";
    HintHelp: "--help says what it takes", "--help 说明它接受什么";
    OutOfPlace: "what stands before this command does nothing there", "写在此命令之前的内容在那里不起作用";
    HintOutOfPlace: "a prompt that begins with a command's name: tenon run PROMPT", "以命令名开头的提示：tenon run 提示";
    TwoPrompts: "there are two prompts", "有两个提示";
    HintTwoPrompts: "quote the whole prompt: tenon run \"PROMPT\"", "给整个提示加上引号：tenon run \"提示\"";
    PrintNeedsPrompt: "--print and --output-format need a prompt", "--print 和 --output-format 需要提示";
    ImageNeedsPrompt: "--image needs a prompt", "--image 需要提示";
    NoPrompt: "there is no prompt", "没有提示";
    HintPrompt: "tenon \"PROMPT\", or pipe it in; without either on a terminal, tenon asks", "tenon \"提示\"，或通过管道输入；在终端上两者都没有时，tenon 会询问";
    WaitsForInput: "Waiting for the end of standard input (`< /dev/null` gives it none).", "正在等待标准输入结束（用 `< /dev/null` 表示没有输入）。";
    InputUnreadable: "cannot read standard input", "无法读取标准输入";
    InputTooLong: "standard input is longer than {n} KiB", "标准输入超过 {n} KiB";
    HintInputTooLong: "save it in the workspace and name the file in the prompt", "把它保存到工作区，并在提示中写明文件名";
    NoSignals: "cannot watch for Ctrl-C", "无法监听 Ctrl-C";
    AnswerUnreadable: "cannot read the answer", "无法读取回答";
    OutputUnwritable: "cannot write to standard output", "无法写入标准输出";
    NotJson: "not JSON", "无法写成 JSON";
    // Which session.
    TwoSessions: "--continue and --resume name two sessions", "--continue 和 --resume 指了两个会话";
    ForkNeedsSession: "--fork and --rewind need a session to go on with", "--fork 和 --rewind 需要一个要继续的会话";
    HintForkNeedsSession: "tenon --continue --fork, or tenon --resume ID --fork", "tenon --continue --fork，或 tenon --resume 编号 --fork";
    HintResumeTakes: "what follows --resume is a session; a prompt stands before it", "--resume 之后是会话；提示写在它之前";
    NameRefused: "the session cannot be named", "无法给会话命名";
    NameTaken: "the session cannot be named `{name}`: that word means the newest session", "不能把会话命名为 `{name}`：这个词表示最新的会话";
    NameHoldsSecret: "the session cannot be named: the name holds a secret, and names are shown", "无法给会话命名：名称中含有密钥，而名称会显示出来";
    NoSessionIn: "there is no session in {folder} yet", "{folder} 中还没有会话";
    HintAllSessions: "`tenon sessions` lists those of all folders", "`tenon sessions` 列出所有文件夹的会话";
    NoTerminalToChoose: "which session? there is no terminal to choose on", "哪个会话？没有可供选择的终端";
    NoSessionHere: "there is no session in this folder yet", "此文件夹中还没有会话";
    NoSessionChosen: "no session was chosen", "没有选择会话";
    HintChooseSession: "`tenon sessions` lists them; --resume ID, or --continue for the last one", "`tenon sessions` 列出会话；用 --resume 编号，或用 --continue 继续最近的会话";
    LogBroken: "the session cannot be kept, so the turn ends; what was shown last is not in it", "无法保存会话，本轮因此结束；最后显示的内容不在其中";
    LogNotKept: "the session cannot be kept", "无法保存会话";
    HintLogBroken: "once that is mended: tenon --resume {id}", "解决之后：tenon --resume {id}";
    // Configuration, rules and files.
    NoHome: "there is no home folder", "没有主文件夹";
    HintNoHome: "set HOME to an absolute path", "把 HOME 设为绝对路径";
    FileUnreadable: "cannot read {path}", "无法读取 {path}";
    NoSuchSetting: "there is no setting `{key}`; it is left out", "没有设置 `{key}`，已忽略";
    NotOfProject: "`{key}` is not taken from a project's file: it belongs into the user's own", "`{key}` 不从项目的文件中采用：它应写在用户自己的文件中";
    LooserInProject: "`{key}` is not taken from a project's file: it may only be stricter than the user's", "`{key}` 不从项目的文件中采用：它只能比用户的设置更严格";
    KeyIsOpen: "{file} holds a key and others may read it: chmod 600 it", "{file} 中有密钥，而其他用户可以读取它：请运行 chmod 600";
    FolderNotAbsolute: "`{folder}` begins neither with / nor ~/", "`{folder}` 既不以 / 也不以 ~/ 开头";
    ReadDirUnusable: "a folder of read_dir cannot be used", "read_dir 中有一个文件夹无法使用";
    ReadDirUnsayable: "{folder} has a name that no rule can say", "{folder} 的名称无法写成规则";
    InstructionsUnread: "instructions are not read", "未读取说明";
    ProviderName: "[providers.{name}] cannot have this name: choose another without `/` and `:`", "[providers.{name}] 不能用这个名称：请换一个不含 `/` 和 `:` 的名称";
    ProviderKind: "[providers.{name}] needs kind = \"openai\" or \"anthropic\"", "[providers.{name}] 需要 kind = \"openai\" 或 \"anthropic\"";
    ProviderAddress: "[providers.{name}] needs a base_url", "[providers.{name}] 需要 base_url";
    ProviderTwoKeys: "[providers.{name}] has both key and key_env: keep one", "[providers.{name}] 同时有 key 和 key_env：请只保留一个";
    NoRule: "`{rule}` is no rule", "`{rule}` 不是规则";
    BookInWorkspace: "it lies in the workspace, where the model writes", "它在工作区内，模型会在那里写入";
    BookNoList: "`{setting}` is no list there", "那里的 `{setting}` 不是列表";
    BookNoText: "`{setting}` is no text there", "那里的 `{setting}` 不是文本";
    BookTooLong: "it is too long", "它太长";
    // Walls and hosts.
    NoHost: "`{name}` is no host for --net", "`{name}` 不是 --net 可用的主机";
    HintNoHost: "a name (example.com), *.example.com, HOST:PORT, cargo, npm, pip, go, or `on` for everything", "名称（example.com）、*.example.com、主机:端口、cargo、npm、pip、go，或用 `on` 表示整个网络";
    NetOpens: "--net {name} opens {hosts}", "--net {name} 开放 {hosts}";
    ProxyUnusable: "commands cannot use the configured proxy", "命令无法使用所配置的代理";
    FolderNotMade: "{path} cannot be made", "无法创建 {path}";
    // Which model.
    ModelFileAlone: "--model-file goes with --model local alone", "--model-file 只能与 --model local 一起使用";
    HintModelSet: "the model is set by {source}", "模型由 {source} 设置";
    NoFile: "there is no file {path}", "没有文件 {path}";
    BuiltInNotHere: "the built-in model, {model}, is not here", "内置模型 {model} 尚未下载";
    HintPullOrLocal: "`tenon models pull` fetches it (1.1 GB), and so does --model local", "用 `tenon models pull` 下载（1.1 GB），--model local 也会下载";
    WhichModel: "which model of {address}?", "使用 {address} 的哪个模型？";
    HintScript: "the script is {path}", "脚本是 {path}";
    NoBuiltIn: "this tenon was built without the built-in model", "此 tenon 构建时未包含内置模型";
    HintNoBuiltIn: "install it with its default features, or choose another --model", "以默认功能重新安装，或用 --model 选择其他模型";
    ModelUnusable: "the model cannot be used", "无法使用该模型";
    HintRunningHere: "running here: {label}: {flag}", "本机正在运行：{label}：{flag}";
    HintSetKey: "set ANTHROPIC_API_KEY or OPENAI_API_KEY, and choose with --model PROVIDER/NAME", "设置 ANTHROPIC_API_KEY 或 OPENAI_API_KEY，并用 --model 提供方/名称 选择";
    HintAnyServer: "any compatible server: OPENAI_BASE_URL=http://HOST tenon --model openai/NAME", "任何兼容的服务器：OPENAI_BASE_URL=http://主机 tenon --model openai/名称";
    HintLocal: "no key at all: --model local runs a small built-in model (fetches 1.1 GB once)", "完全不需要密钥：--model local 运行一个小型内置模型（首次下载 1.1 GB）";
    OffersHead: "No model is configured. This machine has:", "未配置模型。本机有：";
    OfferOnServer: "{model} on {server} ({address})", "{server} 上的 {model}（{address}）";
    OfferBuiltIn: "the built-in model, small and without any key ({state})", "内置模型，体积小，不需要密钥（{state}）";
    OfferHere: "here already", "已下载";
    OfferToFetch: "{n} MB to fetch", "需下载 {n} MB";
    OfferLeftToFetch: "{n} MB left to fetch", "还需下载 {n} MB";
    OfferFetch: "Fetch {model} ({n} MB)? [y/N] ", "下载 {model}（{n} MB）吗？[y/N] ";
    BecauseOnlyOne: "it is the only model here", "这里只有它";
    BecauseYourChoice: "your choice", "你的选择";
    // Fetching the built-in model.
    Fetching: "Fetching {model} ({n} MB).", "正在下载 {model}（{n} MB）。";
    HubGivesNothing: "The model hub gives nothing ({reason}); trying Python packages.", "从模型中心下载不到（{reason}）；改用 Python 软件包。";
    AnotherFetches: "Another tenon fetches this model; waiting for it.", "另一个 tenon 正在下载此模型；正在等待。";
    ProgressFetching: "fetching", "下载";
    ProgressPreparing: "preparing", "准备";
    ProgressChecking: "checking", "检查";
    ProgressLine: "{doing}: {n} % of {all}", "{doing}：{all} 的 {n} %";
    ProgressBar: "{doing} [{bar}] {n} % of {all}", "{doing} [{bar}] {all} 的 {n} %";
    ProgressLeft: ", {rate}/s, {time} left", "，{rate}/s，还需 {time}";
    ProgressTokens: "{n} tokens", "{n} 个词元";
    DiskFull: "the disk that holds {folder} is full", "{folder} 所在的磁盘已满";
    HintDiskFull: "the model needs {n} MB; make room, or point XDG_CACHE_HOME to another disk, and run `tenon models pull` again: it goes on where it was", "模型需要 {n} MB；请腾出空间，或把 XDG_CACHE_HOME 指向另一个磁盘，然后再次运行 `tenon models pull`：它会接着下载";
    ModelNotKept: "cannot keep the model in {folder}", "无法在 {folder} 中保存模型";
    ModelNowhere: "{model} cannot be fetched. The model hub: {hub}. Python packages: {packages}", "无法下载 {model}。模型中心：{hub}。Python 软件包：{packages}";
    HintPullAgain: "`tenon models pull` tries again and goes on where it was", "`tenon models pull` 会重试并接着下载";
    HintModelFile: "--model-file FILE takes a GGUF file that you have", "--model-file 文件 使用你已有的 GGUF 文件";
    // Undo and replay.
    NoUndoHere: "nothing can be undone in this session", "本会话无法撤销";
    LookedAfterKilled: "tenon was killed while a command ran; files that programs take commands from are as before that command again", "tenon 在命令运行时被强行终止；其他程序会从中读取命令的文件已恢复到该命令之前的状态";
    ChangedSinceKilled: "tenon was killed while a command ran that changed {path}, which was changed since, too: look at it, programs take commands from there", "tenon 在命令运行时被强行终止，该命令改动了 {path}，此后该文件又有改动：请检查，其他程序会从中读取命令";
    HalfUndone: "tenon was killed while it undid or redid something: the files are as it left them, until `tenon undo` or `tenon redo` takes that back first", "tenon 在撤销或重做时被强行终止：文件保持当时的状态，下一次 `tenon undo` 或 `tenon redo` 会先将其还原";
    UnsureKilled: "tenon was killed while a command ran that changed {path}: look at it, programs take commands from there (nothing is put back from records on the mount of the workspace, where other commands may have written them)", "tenon 在命令运行时被强行终止，该命令改动了 {path}：请检查，其他程序会从中读取命令（工作区所在挂载点上的记录可能被其他命令改写，因此不会据此恢复）";
    ComparedHere: "this kernel does not say what commands are about to change: for undo the workspace is compared before and after each", "此内核不会告知命令将改动什么：为了撤销，在每个命令前后比较工作区";
    NoSuchStep: "there is no step or call `{from}`", "没有步骤或调用 `{from}`";
    HintChanges: "`tenon changes {id}` lists them", "`tenon changes {id}` 列出它们";
    HintKeepMine: "--keep-mine leaves these as they are and puts the rest back", "--keep-mine 保留这些，撤销其余";
    HintOverwrite: "--overwrite PATH puts that back too; redo brings your version back", "--overwrite 路径 也撤销它；redo 可恢复你的版本";
    NoFolderRecorded: "the log does not say where the session worked", "日志没有说明会话的工作文件夹";
    FolderGone: "{folder} is not there any more or cannot be read", "{folder} 已不存在或无法读取";
    FileNotCopied: "{path} cannot be copied", "无法复制 {path}";
    TooLargeToCopy: "the workspace is too large to be copied: more than {n} files or {bytes} GiB", "工作区太大，无法复制：超过 {n} 个文件或 {bytes} GiB";
    HintToolsFrom: "--with-tools-from LOG replays without the workspace", "--with-tools-from 日志 不用工作区即可重放";
    NotPutBack: "the files cannot be put back in the copy", "无法在副本中恢复文件";
    NoBundle: "{path} is no bundle that can be replayed", "{path} 不是可以重放的包";
    BundleWithoutLog: "the bundle has no log", "包中没有日志";
    NothingToReplay: "there is nothing to replay: the log has no request", "没有可以重放的内容：日志中没有请求";
    NoFolderToWork: "there is no folder to work in", "没有可以工作的文件夹";
}
