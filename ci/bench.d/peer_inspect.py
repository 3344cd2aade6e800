"""An evaluation with inspect_ai: one call of a tool a sample, by its own mock of a model, and a scorer that looks at it.

Usage: peer_inspect.py SAMPLES FOLDER     FOLDER: for its logs
"""
import sys

from inspect_ai import Task, eval as run
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, accuracy, scorer
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import tool


@tool
def get_order_status():
    async def execute(order_id: str):
        """Look up an order by its number.

        Args:
            order_id: The number of the order.
        """
        return '{"status":"shipped"}'
    return execute


@scorer(metrics=[accuracy()])
def call_and_answer():
    async def score(state, target):
        made = [c for m in state.messages if m.role == "assistant" for c in m.tool_calls or []]
        called = len(made) == 1 and made[0].function == "get_order_status" and made[0].arguments == {"order_id": "123"}
        return Score(value=1 if called and target.text in state.output.completion else 0)
    return score


def model(messages, tools, tool_choice, config):
    if messages[-1].role == "tool":
        out = ModelOutput.from_content("mockllm/model", "It has been shipped.")
    else:
        out = ModelOutput.for_tool_call("mockllm/model", "get_order_status", {"order_id": "123"})
    out.usage = ModelUsage(input_tokens=80, output_tokens=19, total_tokens=99)  # else it fetches a tokenizer to count
    return out


def main():
    samples = [Sample(input=f"Question {n}: where is order 123?", target="shipped") for n in range(int(sys.argv[1]))]
    task = Task(dataset=MemoryDataset(samples), solver=[use_tools(get_order_status()), generate()], scorer=call_and_answer())
    log = run(task, model=get_model("mockllm/model", custom_outputs=model), display="none", log_dir=sys.argv[2])[0]
    return 0 if log.status == "success" and log.results.scores[0].metrics["accuracy"].value == 1 else 1


if __name__ == "__main__":
    sys.exit(main())
