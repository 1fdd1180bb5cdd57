"""The roads by which clients arrive: `wire` between the SDK and the pipeline, one module per transport."""
