from .document_map import DocumentMap as DocumentMap
from .document_map import map_documents as map_documents
from .model_report import Report as Report
from .model_report import make_report as make_report
from .oddities import Duplicate as Duplicate
from .oddities import Oddities as Oddities
from .oddities import Suspect as Suspect
from .oddities import find_oddities as find_oddities
