"""The Telegram channel: cards as messages with buttons, taps and replies as form events."""
