"""The adapter of libcurl through pycurl: `client.run` does a job."""
