"""What an identity may do: the system access controls that come with the coordinator."""
