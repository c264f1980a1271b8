"""Operations: their life, turns, approvals and outputs, and the hub's line to the runner."""
