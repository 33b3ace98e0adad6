from .rules import distance_vote as distance_vote
from .rules import fallback_vote as fallback_vote
from .rules import majority_vote as majority_vote
