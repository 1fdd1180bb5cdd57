"""How a loop ends without an answer: always in public, and never with what was asked or answered."""

from __future__ import annotations

from frontmcp import PublicMcpError


class AgentLoopExceededError(PublicMcpError):
    """The model still wanted tools when it had been asked as often as it may be."""

    code = "AGENT_LOOP_EXCEEDED"

    def __init__(self, agent: str, iterations: int) -> None:
        super().__init__(f'Agent "{agent}" exceeded maximum iterations ({iterations})')


class AgentTokensExceededError(PublicMcpError):
    """The model still wanted tools when its tokens were used up."""

    code = "AGENT_TOKENS_EXCEEDED"

    def __init__(self, agent: str, tokens: int) -> None:
        super().__init__(f'Agent "{agent}" exceeded maximum tokens ({tokens})')


class AgentTimeoutError(PublicMcpError):
    """The loop took too long."""

    code = "AGENT_TIMEOUT"

    def __init__(self, agent: str, after_ms: int) -> None:
        super().__init__(f'Agent "{agent}" timed out after {after_ms}ms')


class AgentRefusedError(PublicMcpError):
    """The model, or its provider, refused to answer."""

    code = "AGENT_REFUSED"

    def __init__(self, agent: str) -> None:
        super().__init__(f'Agent "{agent}": the model refused to answer')


class AgentCutOffError(PublicMcpError):
    """The model's answer was cut off: it reached ``max_tokens``, or what the model can take."""

    code = "AGENT_CUT_OFF"

    def __init__(self, agent: str) -> None:
        super().__init__(f'Agent "{agent}": the answer of the model was cut off')
