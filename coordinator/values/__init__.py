"""Types of values between rooms: as Arrow holds them, as engines name them. Below every room that runs or connects."""
