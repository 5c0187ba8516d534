"""Eight processes on one vault for minutes: nothing fails, is lost, doubled or grows."""
