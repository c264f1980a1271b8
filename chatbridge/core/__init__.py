"""The domain: what an ask is and how it lives. No I/O, and no third-party import but pydantic."""
