"""Files of asks, notices and answers: stored, recognised, shrunk, and kept within limits."""
