"""Tables defined and written: CREATE, ALTER, INSERT and the rest, through PyIceberg or Spark."""
