import json
import os
import urllib.request

URL = os.environ.get("ASKBACK_URL", "http://127.0.0.1:4100")
TOKEN = os.environ["ASKBACK_AGENT_TOKEN"]


def call(method, path, body=None):
    request = urllib.request.Request(f"{URL}/api{path}", method=method)
    request.add_header("Authorization", f"Bearer {TOKEN}")
    request.add_header("Content-Type", "application/json")
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(request, data) as response:
        return json.load(response)


def ask(session, question, options):
    interactions = f"/sessions/{session}/interactions"
    choices = {
        "question": question,
        "options": [{"label": label} for label in options],
        "multiSelect": False,
    }
    body = {"kind": "question", "request": {"questions": [choices]}, "timeoutMs": 86_400_000}
    interaction = call("POST", interactions, body)["interaction"]
    while interaction["status"] == "pending":
        interaction = call("GET", f"{interactions}/{interaction['interactionId']}?wait=25")["interaction"]
    return interaction


session = call("POST", "/sessions", {"agent": None, "title": "Python"})["session"]["id"]
settled = ask(session, "Which database?", ["PostgreSQL", "SQLite"])
if settled["settlement"] == "answered":
    print("Chosen:", settled["answer"]["answers"][0]["selected"][0])
else:
    print("Not answered:", settled["settlement"])
