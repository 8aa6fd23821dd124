"""Text → `Translation`: validation of requests, packing of weights, capture of attention, results."""
