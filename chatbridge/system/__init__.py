"""What differs between Linux and macOS. Each module uses what the kernel offers and has a portable
way beside it; the rest of the program does not ask where it runs.

Standard library only and cheap to import, because links use it.

    platform: which system this is
    sockets: Unix sockets, and whose process is at the other end
    descriptors: the limit of open files, and inherited ones
    locks: who holds the lock of a file
    processes: processes as the kernel knows them
    file_changes: what changes in folders
    children: children that have ended, and orphans
"""
