"""Types of values between rooms: as Arrow holds them, and as engines name them."""
