"""The machinery that runs actions: consumers, committer, parked store. Users import `parkway.agents`."""
