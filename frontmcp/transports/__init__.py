"""The roads by which clients arrive, and the wire between the SDK and the pipeline.

The roads: `memory`, `stdio`, and `http` with its `options`, where `admission`, `posts` and `answers` stand before the
SDK's endpoint, and `replay` keeps what broken streams missed.

The wire: `wire` says what serves which method. Tools, resources and prompts: `calls`, and `suspending` where a call may
leave its request. Lists: `listing`. Changes: `subscriptions` lets clients hear of them, `changes` tells them. What
plugins add: `extensions`. All make the context of a request with `requests` (`callers`: who makes it; `peer`: the
client, as calls see it; `questions`: as the protocol writes them), and tell what failed with `failures`. `sdk` reads
what the SDK hands over; `served` is what the wire needs of a server; `in_flight` knows which requests of older sessions
are under way; `keys` seal what clients carry.
"""
