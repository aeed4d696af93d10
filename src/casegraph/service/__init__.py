"""The service: a store over HTTP, with a page (the extra `service`)."""
