"""A process that has loaded all that a service needs: its forks start at once."""

from treewass import DocumentModel
from treewass.serve import Settings, application, connections, running

LOADED = (application, connections)
DocumentModel(n_neighbors=1).fit(["a cat", "a dog"], ["cat", "dog"]).search("a cat")


def serve(folder, token, told):
    running.run_service(folder, Settings(token=token), port=0, announce=told.send)
