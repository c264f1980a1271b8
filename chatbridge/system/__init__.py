"""What differs between Linux and macOS. Each module uses what the kernel offers and has a portable
way beside it; the rest of the program does not ask where it runs.

Standard library only and cheap to import, because links use it.

    platform: which system this is
"""
