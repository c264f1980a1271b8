"""chatbridge carries the questions of AI coding agents to their owner and the answers back.

Modules and sub-packages:

    __main__: the command line, which picks the part of chatbridge to run
    cli: the commands for people: setup, doctor, ask, answer, service and others
    hub: the process that connects links, store, tools and channels
    link: the process that an MCP client starts; relays between the client and the hub
    tools: the MCP tools that agents call
    commands: command-line tools that agents may run, with approval
    channels: the chats, ntfy and the web inbox
    core: asks, forms, cards and delivery, without I/O
    store: the SQLite database
    settings: the configuration file and environment variables
    attachments: the files of asks, notices and answers
    voice: voice messages turned into text
    projects: the project of a folder, and its `.chatbridge.toml`
    markdown: the parser of agents' markdown
    clock: the system clock
    durations: durations as people write them
    runtime_paths: directories, files and the hub's socket
    lock_file: the hub's lock and its holder
    system: what differs between Linux and macOS
    framing: lines of a byte stream
    safe_json: JSON with bounded nesting, and valid request ids
    bounded_read: files with bounded size
    atomic_write: files that are replaced in one step
    redaction: texts without known secrets
    setting_rules: rules for single settings
    digests: SHA-256 without OpenSSL
    extras: optional dependencies and how to install them
    tool_names: the tools' names, and other ones for some clients
"""

__version__ = "0.1.0"
