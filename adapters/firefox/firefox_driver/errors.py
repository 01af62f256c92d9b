"""Why the driver cannot go on; becomes an `error` line and exit code 1."""


class DriverError(Exception):
    """Something broke that no later job could survive: the browser died or does not answer."""
