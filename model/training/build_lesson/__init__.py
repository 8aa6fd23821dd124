"""The tiny translator of the lesson "Build it yourself": 432 weights, trained once for every set of parts."""
