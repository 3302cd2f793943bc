"""Do trainable sines help? Networks that differ in their sines alone, trained and searched alike."""
