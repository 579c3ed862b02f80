def live_settings(kafka): raise NotImplementedError
def live_installation(setup, loop): raise NotImplementedError
