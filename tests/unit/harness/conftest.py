import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # harness_agents, as a user's agents are found beside their tests
