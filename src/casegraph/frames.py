"""Frames: rows with named columns as a table of pandas, pyarrow or Polars."""

from __future__ import annotations

from typing import Any

from casegraph.errors import CasegraphError, optional_module


class Tabular:
    """An object that has rows with named columns, and can be converted to a frame."""

    __slots__ = ()

    def records(self) -> list[dict[str, Any]]:
        """The rows as dictionaries."""
        raise NotImplementedError

    def to_df(self) -> Any:  # noqa: ANN401  (a frame of pandas, which may not be installed)
        """The rows as a frame of pandas."""
        try:
            import pandas
        except ImportError as error:
            message = "to_df needs pandas; install it, or use to_arrow"
            raise CasegraphError(message) from error
        return pandas.DataFrame(self.records())

    def to_arrow(self) -> Any:  # noqa: ANN401
        """The rows as a table of pyarrow (the extra `arrow`)."""
        pyarrow = optional_module("pyarrow", "to_arrow needs pyarrow", extra="arrow")
        return pyarrow.Table.from_pylist(self.records())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows for any library with the Arrow interface, as in `polars.DataFrame(answers)`."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)
