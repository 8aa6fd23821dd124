"""The service: translations, models and caches."""
