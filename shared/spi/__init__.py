"""Every extension point, one file each. Implementations live elsewhere and never in this package."""
