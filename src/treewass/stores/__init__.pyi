from .model_exports import export_model as export_model
from .postgres_index import PostgresIndex as PostgresIndex
from .postings import read_postings as read_postings
from .postings import search_sql as search_sql
from .postings import write_postings as write_postings
from .square_roots import certified as certified
from .square_roots import sqrt_vectors as sqrt_vectors
