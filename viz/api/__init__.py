"""What other programs ask: `/translate`, `/attention`, and the limits on requests."""
