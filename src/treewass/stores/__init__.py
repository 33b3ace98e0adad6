"""Documents in the stores people run already: PostgreSQL, SQL engines over Parquet files, inner-product stores."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
