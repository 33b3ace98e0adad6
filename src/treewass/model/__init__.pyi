from .comparison import Compared as Compared
from .comparison import compare_methods as compare_methods
from .document_model import DocumentModel as DocumentModel
from .evaluation import Evaluation as Evaluation
from .evaluation import evaluate as evaluate
from .evaluation import fit_and_evaluate as fit_and_evaluate
from .vectorizers import WordCounter as WordCounter
