"""One thin module a DVC stage: read the parameters, call the library, publish the result atomically."""
