"""The log on standard error: lines for people, or objects of JSON for programs."""

import json
import logging


def start_logging(*, as_json: bool) -> None:
    """Write what casegraph says about its work to standard error, from information on."""
    handler = logging.StreamHandler()
    handler.setFormatter(
        JsonLines() if as_json else logging.Formatter("casegraph: %(message)s")
    )
    logger = logging.getLogger("casegraph")
    logger.handlers = [handler]
    logger.propagate = False
    logger.setLevel(logging.INFO)


class JsonLines(logging.Formatter):
    """A record of the log as an object of JSON on one line."""

    def format(self, record: logging.LogRecord) -> str:
        """The record with its time in seconds since 1970."""
        said = {
            "time": round(record.created, 3),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        return json.dumps(said, ensure_ascii=False)
