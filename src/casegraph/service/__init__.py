"""The service: a store over HTTP, with a web page (the extra `service`)."""
