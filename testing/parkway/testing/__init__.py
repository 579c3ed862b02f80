"""What tests of agents are made of.

Imported by the pytest plugin in every pytest run: nothing heavy may be imported here.
"""
