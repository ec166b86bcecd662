"""The small program that runs beside a user's command, wherever that is."""
