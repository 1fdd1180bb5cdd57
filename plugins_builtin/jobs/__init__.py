"""`jobs`: work that outlives the call that started it."""
