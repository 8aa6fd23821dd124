"""Where an answer comes from: the service, the models that it knows, and what is cached."""
