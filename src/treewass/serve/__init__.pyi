from .application import create_app as create_app
from .applied_writes import NewDocument as NewDocument
from .live_model import LiveModel as LiveModel
from .running import run_service as run_service
from .service_settings import Settings as Settings
from .upkeep import backup_model as backup_model
from .upkeep import fold_writes as fold_writes
from .upkeep import publish_model as publish_model
