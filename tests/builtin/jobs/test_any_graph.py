"""Whatever the graph of a workflow and whatever fails in it: what each step becomes, and that it waits for its turn."""

from __future__ import annotations

from typing import Any

import anyio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from frontmcp import FrontMcp, Job, PublicMcpError, Step, Workflow, create_direct

Graph = list[tuple[set[int], str]]
"""For each step those before it that it depends on, and how it goes: it works, it fails, its failure is passed over, or
its condition does not hold."""

WAYS = ("works", "fails", "passed over", "unwanted")


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    size = draw(st.integers(1, 7))
    return [
        (draw(st.sets(st.integers(0, index - 1))) if index else set(), draw(st.sampled_from(WAYS)))
        for index in range(size)
    ]


def expected(graph: Graph) -> list[str]:
    states: list[str] = []
    blocked: set[int] = set()
    for index, (before, way) in enumerate(graph):
        if before & blocked:
            states.append("skipped")
            blocked.add(index)
        elif way == "unwanted":
            states.append("skipped")
        else:
            states.append("completed" if way == "works" else "failed")
            if way == "fails":
                blocked.add(index)
    return states


def workflow(graph: Graph, order: list[int], most: int) -> Workflow:
    made = [
        Step(
            str(index),
            "work",
            input={"index": index, "way": way},
            depends_on=[str(each) for each in sorted(before)],
            condition=(lambda steps: False) if way == "unwanted" else None,
            continue_on_error=way == "passed over",
        )
        for index, (before, way) in enumerate(graph)
    ]
    return Workflow(name="any", steps=[made[index] for index in order], max_concurrency=most)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(graph=graphs(), most=st.integers(1, 4), data=st.data())
def test_every_step_ends_as_it_must(graph: Graph, most: int, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(graph))))
    ended: list[int] = []
    inside = [0, 0]

    @Job
    async def work(index: int, way: str) -> int:
        assert {each for each in graph[index][0] if graph[each][1] != "unwanted"} <= set(ended), "it did not wait"
        inside[0] += 1
        inside[1] = max(inside)
        await anyio.sleep(0)
        inside[0] -= 1
        ended.append(index)
        if way in ("fails", "passed over"):
            raise PublicMcpError("it failed", "FAILED")
        return index

    async def run() -> dict[str, Any]:
        server = FrontMcp("desk", jobs=[work], workflows=[workflow(graph, order, most)], autoload_plugins=False)
        async with create_direct(server) as direct:
            return await direct.execute_workflow("any")

    result = anyio.run(run)["result"]
    states = [result["stepResults"][str(index)]["state"] for index in range(len(graph))]
    assert states == expected(graph)
    assert all(step.get("error", {}).get("code", "FAILED") == "FAILED" for step in result["stepResults"].values())
    fails = any(state == "failed" and way == "fails" for state, (_, way) in zip(states, graph, strict=True))
    assert result["state"] == ("failed" if fails else "completed")
    assert len(ended) == len(set(ended))
    assert inside[1] <= most
