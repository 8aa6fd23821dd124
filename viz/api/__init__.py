"""The public API (`/translate`, `/attention`, `/effects`, `/scan`, `/judge`, `/batch`), and limits on requests."""
