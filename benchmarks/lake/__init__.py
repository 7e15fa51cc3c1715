"""A lake of many tables beside its writers, kept by the maintenance service and by Spark's procedures from cron."""
