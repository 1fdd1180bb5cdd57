"""`ProviderAdapter`: what adapters for the models of providers have in common, on whatever SDK they are."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, Final, Self

from pydantic import BaseModel, ConfigDict, Field

from frontmcp.errors import ConfigurationError
from frontmcp.llm import ModelConfig, ModelError, retry_after

NO_SENSE: Final = "The answer of the model's provider makes no sense"
LONG_WAIT: Final = 30
"""Seconds: a provider that says to come back later than that is not asked again."""


async def heed_long_waits(response: Any) -> None:
    """Have an SDK that heeds ``x-should-retry`` not wait for long: a hook for the responses of its HTTP client."""
    if (retry_after(response.headers) or 0) > LONG_WAIT:
        response.headers["x-should-retry"] = "false"


class ProviderOptions(BaseModel):
    """What ``llm={"provider": …}`` may have besides model, key and URL. Subclass it for more.

    :ivar temperature: unless a request has its own; likewise ``max_tokens``.
    :ivar timeout: seconds that one attempt may take.
    :ivar max_retries: attempts after the first, when the provider is busy or away; ``retry-after`` is heeded, and where
        it is longer than `LONG_WAIT` there are none.
    :ivar structured: let the provider enforce the schema of an agent's answer.
    :ivar parameters: further fields of each request, as the provider documents them.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    temperature: float | None = None
    max_tokens: int | None = Field(None, gt=0)
    timeout: float = Field(120, gt=0)
    max_retries: int = Field(2, ge=0)
    structured: bool = True
    parameters: Mapping[str, Any] = Field(default_factory=dict)


class ProviderAdapter:
    """The base of a `ModelAdapter` for a provider: its options, its client and its errors.

    A subclass says how to `connect`, and answers ``completion`` with `client`, under `our_errors`.

    :param model: such as `example`.
    :param api_key: that of the environment's `key_variable` when None.
    :param base_url: of a gateway, or of another server that speaks the provider's API.
    :param http_client: for tests and proxies; whoever gives it closes it.
    :param options: those of `options_type`.
    :raises ConfigurationError: ``base_url`` or an option is wrong; each is named.
    :cvar provider: as in ``llm={"provider": …}``.
    :cvar key_variable: of the environment, that has the key.
    :cvar example: the name of a model of the provider's.
    :cvar options_type: what ``options`` may be.
    """

    provider: ClassVar[str]
    key_variable: ClassVar[str]
    example: ClassVar[str]
    options_type: ClassVar[type[ProviderOptions]] = ProviderOptions

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        http_client: Any = None,
        **options: Any,
    ) -> None:
        if problems := ModelConfig(self.provider, base_url=base_url, extra=options).problems(self.options_type):
            raise ConfigurationError(problems)
        self.model = model
        self.base_url = base_url
        self.options: Any = self.options_type(**options)
        self._api_key = api_key
        self._http_client = http_client
        self._client: Any = None

    @classmethod
    def of(cls, config: ModelConfig) -> Self:
        """The adapter that an agent's ``llm=`` asks for.

        :raises ConfigurationError: the model or the key is missing, or an option is wrong; each is named.
        """
        problems = []
        if config.model is None:
            problems.append(f'"model" is missing, such as "{cls.example}"')
        key = config.key(cls.key_variable)
        if not key and cls.needs_key(config):
            problems.append(f'there is no key: set {cls.key_variable}, or give "api_key"')
        problems += config.problems(cls.options_type)
        if problems or config.model is None:
            raise ConfigurationError(problems)
        return cls(config.model, api_key=key, base_url=config.base_url, **config.extra)

    @classmethod
    def needs_key(cls, config: ModelConfig) -> bool:
        """Whether there must be a key."""
        return True

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.model}>"

    @property
    def client(self) -> Any:
        """The SDK's client, made at the first request."""
        if self._client is None:
            self._client = self.connect(
                api_key=self._api_key or os.environ.get(self.key_variable),
                base_url=self.base_url,
                timeout=self.options.timeout,
                max_retries=self.options.max_retries,
                http_client=self._http_client,
            )
        return self._client

    def connect(self, **settings: Any) -> Any:
        """A client of the SDK, with ``async def close(self)``.

        :param settings: ``api_key``, ``base_url``, ``timeout``, ``max_retries`` and ``http_client``.
        """
        raise NotImplementedError

    async def aclose(self) -> None:
        """Close the connections; the next request opens new ones."""
        client, self._client = self._client, None
        if client is not None and self._http_client is None:
            await client.close()

    @contextmanager
    def our_errors(self) -> Iterator[None]:
        """What the SDK and the connection raise inside, as the errors of an adapter: none repeats what was asked."""
        try:
            yield
        except ModelError:
            raise
        except Exception as error:
            raise self.error_of(error) from None

    def error_of(self, error: Exception) -> ModelError:
        """The error to raise for one of the SDK's. Extend it: here none of them makes sense."""
        made = ModelError(NO_SENSE)
        made.reason = type(error).__name__
        return made
