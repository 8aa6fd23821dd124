"""Text → `Translation`: requests checked, weights prepared, attention captured, results made."""
