"""The programs that a library of memory or of requests is tried with.

Each sets `result`, or ends with the library's own error. `first` is the quick start of the library's documents up to its first answer;
of several, that which needs no key. `mistakes` are what a user gets wrong, where the library has what is needed for it.
"""

from __future__ import annotations

from typing import NamedTuple

PATH, CLOSED, DUPLICATE, FILTER = "a path that cannot be", "used after close", "added twice", "a filter by an unknown field"


class Library(NamedTuple):
    """`requirement` is what pip installs; "" is this project, `extra` included. `entry` is the import that the documents begin with."""

    name: str
    requirement: str
    entry: str
    first: str
    mistakes: dict[str, str]
    extra: str = ""


def _programs(before: str, lines: dict[str, str]) -> dict[str, str]:
    return {mistake: f"{before}\n{line}" for mistake, line in lines.items()}


OURS = """
from popkit_retention.memory import Memory, SqliteStore
memory = Memory(SqliteStore("agent.sqlite"), "my-agent")
memory.upsert("contact", "The customer prefers e-mail to calls.", metadata={"lang": "en"})
"""
DOCUMENTED = """
from popkit_retention.memory import Memory, SqliteStore
with Memory(SqliteStore("agent.sqlite"), "my-agent", job="hourly") as memory:
    item = memory.upsert("contact", "The customer prefers e-mail to calls.", metadata={"lang": "en"})
    for found, relevance in memory.search("how to reach the customer"):
        result = (round(relevance, 2), found.text)
        memory.reinforce([found.id])
    memory.document(tokens=500).text
"""
# No key, but a stand-in for the model of embeddings, so that the answers are the library's and not those of a service.
MEM0 = """
from mem0 import Memory
key = {"provider": "openai", "config": {"api_key": "none"}}
store = {"provider": "qdrant", "config": {"path": "PLACE", "embedding_model_dims": 3}}
memory = Memory.from_config({"llm": key, "embedder": key, "vector_store": store, "history_db_path": "history.db"})
class Vowels:
    def embed(self, text, memory_action=None):
        return [1.0 + text.count(letter) for letter in "aei"]
    def embed_batch(self, texts, memory_action=None):
        return [self.embed(text) for text in texts]
memory.embedding_model = Vowels()
memory.add("Ana pays by invoice.", user_id="ana", infer=False)
"""
LANGGRAPH = """
from langgraph.store.memory import InMemoryStore
store = InMemoryStore()
store.put(("users", "ana"), "payment", {"text": "Ana pays by invoice."})
"""
LANGMEM = """
from langgraph.store.memory import InMemoryStore
from langmem import create_manage_memory_tool, create_search_memory_tool
store = InMemoryStore()
manage = create_manage_memory_tool(namespace=("memories",), store=store)
search = create_search_memory_tool(namespace=("memories",), store=store)
manage.invoke({"content": "Ana pays by invoice."})
"""
BUILD = """
from popkit_retention.context import ContextBuildOptions, build_context
messages = [{"role": "user", "content": "What did the customer order?"}]
"""

LIBRARIES = (
    Library(
        "popkit memory", "", "from popkit_retention.memory import Memory, SqliteStore",
        DOCUMENTED,
        _programs(OURS, {
            PATH: 'result = Memory(SqliteStore("/dev/null/agent.sqlite"), "my-agent").list()',
            CLOSED: "memory.close()\nresult = memory.list()",
            DUPLICATE: 'memory.add("Ana pays by invoice.")\nresult = memory.add("Ana pays by invoice.")',
            FILTER: 'result = memory.list(where={"nonsense": 1})',
        }),
    ),
    Library(
        "popkit context", "", "from popkit_retention.context import ContextBuildOptions, build_context",
        BUILD + 'built = build_context(ContextBuildOptions(messages=messages, model="claude-opus-4-8", max_tokens=50_000))\n'
        "result = (built.messages, built.total_tokens, built.notes)",
        {}, extra="[context]",
    ),
    Library(
        "mem0", "mem0ai", "from mem0 import Memory",
        "from openai import OpenAI\nfrom mem0 import Memory\nopenai_client = OpenAI()\nmemory = Memory()\n"
        'result = memory.search(query="how to reach the customer", filters={"user_id": "default_user"}, top_k=3)',
        {
            PATH: MEM0.replace("PLACE", "/dev/null/vectors") + "result = memory",
            **_programs(MEM0.replace("PLACE", "vectors"), {
                CLOSED: 'memory.close()\nresult = memory.get_all(filters={"user_id": "ana"})',
                DUPLICATE: 'result = memory.add("Ana pays by invoice.", user_id="ana", infer=False)',
                FILTER: 'result = memory.get_all(filters={"user_id": "ana", "nonsense": 1})',
            }),
        },
    ),
    Library(
        "letta-client", "letta-client", "from letta_client import Letta",
        'from letta_client import Letta\nclient = Letta(environment="local")\nresult = client.archives.create(name="name").id',
        _programs("from letta_client import Letta", {
            PATH: 'result = Letta(base_url="nonsense").archives.create(name="name")',
            CLOSED: 'client = Letta(environment="local")\nclient.close()\nresult = client.archives.list()',
            FILTER: 'result = Letta(environment="local").archives.list(nonsense=1)',
        }),
    ),
    Library(
        "langmem", "langmem", "from langmem import create_manage_memory_tool, create_search_memory_tool",
        "from langgraph.prebuilt import create_react_agent\nfrom langgraph.store.memory import InMemoryStore\n"
        "from langmem import create_manage_memory_tool, create_search_memory_tool\n"
        'store = InMemoryStore(index={"dims": 1536, "embed": "openai:text-embedding-3-small"})\n'
        'tools = [create_manage_memory_tool(namespace=("memories",)), create_search_memory_tool(namespace=("memories",))]\n'
        'agent = create_react_agent("anthropic:claude-3-5-sonnet-latest", tools=tools, store=store)\n'
        'result = agent.invoke({"messages": [{"role": "user", "content": "Remember that I prefer dark mode."}]})',
        _programs(LANGMEM, {
            DUPLICATE: 'result = manage.invoke({"content": "Ana pays by invoice."})',
            FILTER: 'result = search.invoke({"query": "how does Ana pay", "filter": {"nonsense": 1}})',
        }),
    ),
    Library(
        "langgraph store", "langgraph", "from langgraph.store.memory import InMemoryStore",
        LANGGRAPH + 'result = store.search(("users",), query="how does Ana pay")',
        _programs(LANGGRAPH, {
            DUPLICATE: 'result = store.put(("users", "ana"), "payment", {"text": "Ana pays by card."})',
            FILTER: 'result = store.search(("users",), filter={"nonsense": 1})',
        }),
    ),
    Library(
        "litellm", "litellm", "from litellm import completion",
        "from litellm import completion\n"
        'result = completion(model="openai/gpt-4o", messages=[{"role": "user", "content": "Hello!"}])',
        {},
    ),
)  # fmt: skip
