from .charts import confusion as confusion
from .charts import history as history
from .charts import plan as plan
from .charts import save_picture as save_picture
from .tree_pictures import interactive_tree as interactive_tree
from .tree_pictures import tree as tree
