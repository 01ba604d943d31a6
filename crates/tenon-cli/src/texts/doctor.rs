//! What the doctor says.

use super::Text;

texts! {
    // What the doctor finds.
    DoctorModel: "Model", "模型";
    DoctorConfiguration: "Configuration", "配置";
    DoctorNetwork: "Network", "网络";
    DoctorCommands: "Commands", "命令";
    DoctorUndo: "Undo", "撤销";
    DoctorKernel: "Kernel {release}", "内核 {release}";
    DoctorPrograms: "Programs", "程序";
    ChosenBecause: "{model}, because of {source}", "{model}，依据：{source}";
    BecauseOfKey: "the key in {source}", "{source} 中的密钥";
    BecauseOfAddress: "the address in {source}", "{source} 中的地址";
    SourceEnvironment: "environment", "环境变量";
    NoKeyOf: "{provider} has no key", "{provider} 没有密钥";
    MendKey: "set its key", "设置它的密钥";
    NoModel: "no model is configured", "未配置模型";
    MendNoModel: "set ANTHROPIC_API_KEY or OPENAI_API_KEY", "设置 ANTHROPIC_API_KEY 或 OPENAI_API_KEY";
    MendNoModelLocal: "set ANTHROPIC_API_KEY or OPENAI_API_KEY, or use --model local", "设置 ANTHROPIC_API_KEY 或 OPENAI_API_KEY，或使用 --model local";
    MendModel: "mend --model or the setting", "改正 --model 或相应的设置";
    BuiltInNever: "the built-in model is not built in", "此程序不含内置模型";
    BuiltInWhole: "the built-in model is here", "内置模型已下载";
    BuiltInPartial: "{n} MB of the built-in model are here", "内置模型已下载 {n} MB";
    BuiltInFetchRest: "`tenon models pull` fetches the rest", "用 `tenon models pull` 下载其余部分";
    BuiltInAbsent: "the built-in model is not here; `tenon models pull`", "内置模型尚未下载；可用 `tenon models pull` 下载";
    ProviderIs: "provider {name}: {key}, {address} ({source})", "提供方 {name}：{key}，{address}（{source}）";
    KeyNone: "no key", "没有密钥";
    KeyFrom: "a key from {source}", "密钥来自 {source}";
    OwnService: "its own service", "其官方服务";
    NoFileRead: "no file is read; {file} would be", "未读取任何文件；{file} 存在时会读取";
    FileRead: "read: {file}", "已读取：{file}";
    MendUnread: "make it a text file that you can read", "改成你可以读取的文本文件";
    MendHomeOfOther: "HOME belongs to another user; set HOME or XDG_CONFIG_HOME", "HOME 属于其他用户；请设置 HOME 或 XDG_CONFIG_HOME";
    MendSetting: "mend the setting", "改正该设置";
    MendNotice: "docs/configuration.md lists the settings", "docs/configuration.md 列出所有设置";
    InstructionsFrom: "instructions: {source}", "说明：{source}";
    MendInstructions: "make it a regular text file within the repository", "改成仓库内的普通文本文件";
    SessionsIn: "sessions: {folder}", "会话：{folder}";
    NoProxy: "no proxy", "没有代理";
    TrustedToo: "trusted too: {file}", "另外信任：{file}";
    MendTrusted: "mend ca_file in the configuration", "改正配置中的 ca_file";
    HasOpenat2: "openat2: files cannot lead out of the workspace", "openat2：文件不会把访问引到工作区之外";
    NoOpenat2: "no openat2: no file can be opened", "没有 openat2：无法打开任何文件";
    HasPidfd: "pidfd: commands end with all their processes", "pidfd：命令结束时，它的所有进程一并结束";
    NoPidfd: "no pidfd", "没有 pidfd";
    MendKernel: "Linux {version} or newer is needed", "需要 Linux {version} 或更新的版本";
    KernelGives:
        "Landlock {landlock}, seccomp {seccomp}, user namespaces {namespaces}, mounts changed as a tree {mounts}, processes counted for each namespace {processes}, overlayfs {overlayfs}",
        "Landlock：{landlock}，seccomp：{seccomp}，用户命名空间：{namespaces}，整树更改挂载：{mounts}，按命名空间计进程数：{processes}，overlayfs：{overlayfs}";
    KernelYes: "yes", "有";
    KernelNo: "no", "无";
    KernelVersion: "version {n}", "版本 {n}";
    Wsl1: "WSL 1 has no Linux kernel: commands cannot be confined", "WSL 1 没有 Linux 内核：无法把命令放入沙箱";
    MendWsl1: "in Windows: wsl --set-version DISTRIBUTION 2", "在 Windows 中运行：wsl --set-version 发行版名称 2";
    Wsl2: "this WSL 2 has no Landlock", "此 WSL 2 没有 Landlock";
    MendWsl2:
        "in Windows: wsl --update; if that is not enough, add kernelCommandLine=lsm=landlock to [wsl2] in .wslconfig and run wsl --shutdown",
        "在 Windows 中运行：wsl --update；如果还不行，在 .wslconfig 的 [wsl2] 中加入 kernelCommandLine=lsm=landlock，然后运行 wsl --shutdown";
    NotConfined: "not confined: --sandbox off on the command line", "没有沙箱：--sandbox off（命令行）";
    NotConfinedSetting: "not confined: sandbox = \"off\" in {file}, line {line}", "没有沙箱：{file} 第 {line} 行是 sandbox = \"off\"";
    MendNotConfinedSetting: "leave `sandbox = \"off\"` out of that file", "从该文件中去掉 `sandbox = \"off\"`";
    MendNotConfined: "leave --sandbox off out", "去掉 --sandbox off";
    MendNoTier: "--sandbox off runs commands without walls", "--sandbox off 在没有沙箱的情况下运行命令";
    NoMend: "no way to mend it is known", "没有已知的解决办法";
    CanWrite: "written: {paths}", "可写入：{paths}";
    HeldWithin: "read-only in there, --add-dir with its path opens one: {paths}", "其中只读（用 --add-dir 加上路径可开放）：{paths}";
    CanWriteScratch: "written and thrown away: {paths}", "可写入，用后丢弃：{paths}";
    CanWriteNamed: "written and thrown away, new for each session: {paths}", "可写入，用后丢弃，每个会话新建：{paths}";
    CanRead: "read: {paths}", "可读取：{paths}";
    ShownEmpty: "empty for commands, but for what may be written: {paths}", "对命令而言是空的（可写入的内容除外）：{paths}";
    ShownWithin: "read within them all the same: {paths}", "其中仍可读取：{paths}";
    GivenCopies: "given to commands, from your settings without programs and secrets: {paths}", "提供给命令的文件（取自你的设置，去掉了程序与机密）：{paths}";
    NotThere: "not there: {paths}", "不存在（已隐藏）：{paths}";
    PathUnseen: "in PATH, and not seen by commands: {paths}", "在 PATH 中，但命令看不到：{paths}";
    MountedReadOnly:
        "mounted within, so read-only for commands (--add-dir with its path opens one): {paths}",
        "挂载在其中，因此对命令只读（用 --add-dir 加上路径可开放）：{paths}";
    MountedWritten: "mounted within, and written like the rest: {paths}", "挂载在其中，与其余部分一样可写入：{paths}";
    MountedUndo:
        "a call that made, renamed or deleted something there cannot be undone, only one that wrote in place (in a folder of --add-dir, each can)",
        "在这些挂载处新建、改名或删除过内容的调用无法撤销，只有原地写入的可以（用 --add-dir 加入的文件夹都可以）";
    ReachesAll: "reached: everything, because of --net on", "可访问：整个网络，因为有 --net on";
    ReachesNeverHosts: "reached: nothing; only --net on opens anything", "可访问：无；只有 --net on 能开放网络";
    ReachesNothing: "reached: nothing; --net HOST opens a host", "可访问：无；--net 主机名 可开放一台主机";
    ReachesHosts: "reached: {hosts}", "可访问：{hosts}";
    NoLoopback: "no server and client on loopback in one command (--net on would let them)", "同一个命令里的服务器和客户端无法通过 loopback 相连（--net on 可放行）";
    UndoSwitchedOff: "switched off", "已关闭";
    MendUndoSwitchedOff: "leave `undo = false` out of the configuration", "从配置中去掉 `undo = false`";
    MendJournal: "make the workspace writable, and HOME a folder of your own", "让工作区可写，并使用属于自己的 HOME";
    RecordsCommands: "what file tools and commands change is recorded", "文件工具和命令的改动都会被记录";
    ComparesAsChosen: "the workspace is compared before and after each command, as you chose", "按你的选择，在每个命令前后比较工作区";
    Compares: "the workspace is compared before and after each command, within bounds", "在每个命令前后比较工作区，范围有限";
    MendCompares: "Linux 5.19 or newer without another program's filter is faster and sees more", "使用 Linux 5.19 或更新的版本，且没有其他程序的系统调用过滤器，会更快、更完整";
    UndoUsage: "undo: {n} {n:checkpoint holds|checkpoints hold} {bytes} of at most {bytes_max}", "撤销：{n} 个检查点，占用 {bytes}，上限 {bytes_max}";
    MendUsage: "look at the folder", "检查该文件夹";
    KeptIn: "kept in: {paths}", "保存在：{paths}";
    IsScript: "{name}: {path}, a script", "{name}: {path}（脚本）";
    ScriptStarts: "{name}: {path}, a script; commands run {program}", "{name}: {path}（脚本；命令运行的是 {program}）";
    NotInPath: "{name} is not in PATH", "PATH 中没有 {name}";
    MendBash: "the bash tool cannot run without it: install bash", "没有它，bash 工具无法运行：请安装 bash";
    MendGit: "models use it for history and diffs: install git", "模型用它查看历史和差异：请安装 git";
    MendPython: "the built-in model may have to come by pip: install python3 and pip", "内置模型可能需要通过 pip 下载：请安装 python3 和 pip";
    PathsAndMore: "{paths} and {n} more (`tenon doctor --verbose` names all)", "{paths}，另有 {n} 项（`tenon doctor --verbose` 会全部列出）";
}
