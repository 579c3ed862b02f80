"""Read by mypy only: what a handler gets out of a chat response. `assert_type` fails when it is anything else."""

from typing import Any, assert_type

from pydantic import BaseModel

from parkway.agents import Agent, ChatModel, ChatResponseEvent, Context, action


class Verdict(BaseModel):
    urgent: bool


class Support(Agent):
    triager = ChatModel("openai:gpt-5-mini", output_type=Verdict)
    lister = ChatModel("openai:gpt-5-mini", output_type=list[Verdict])
    named: ChatModel[Verdict] = ChatModel("openai:gpt-5-mini", output_type=Verdict)
    explicit = ChatModel[Verdict]("openai:gpt-5-mini", output_type=Verdict)
    schema = ChatModel("openai:gpt-5-mini", output_type={"type": "object"})
    plain = ChatModel("openai:gpt-5-mini")

    @action("_chat_response_event")
    async def answer(self, event: ChatResponseEvent, ctx: Context) -> None:
        assert_type(self.triager, ChatModel[Verdict])
        assert_type(self.triager.output(event), Verdict)
        assert_type(self.lister.output(event), list[Verdict])
        assert_type(self.named.output(event), Verdict)
        assert_type(self.explicit.output(event), Verdict)
        assert_type(self.schema.output(event), Any)
        assert_type(self.plain.output(event), Any)
        assert_type(event.output(Verdict), Verdict)
        assert_type(event.output(dict[str, int]), dict[str, int])


wrong = ChatModel[Verdict]("openai:gpt-5-mini", output_type=int)  # type: ignore[arg-type]
