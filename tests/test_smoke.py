"""The service as it ships, started once: pages, the API, a command, and a clean stop. tests/test_live.py has the rest."""

from tests.server import running_server
from tests.whole import shown


def test_the_service_starts_answers_and_stops() -> None:
    with running_server(workers=1) as server:
        server.command("load_demo_data")
        key = server.issue_key("Smoke test")
        for path in ("/livez", "/readyz", "/", "/docs/", "/openapi.json", "/admin/account/sign-in/"):
            assert (path, server.send("GET", path).status) == (path, 200)
        [newest] = server.get("/v1/pets?limit=1", key).json()
        new = {"name": "Rex", "categoryId": newest["categoryId"], "status": "pending"}
        made = server.post("/v1/pets", key, new)
        assert (made.status, made.json()) == (201, shown(**new, id=made.json()["id"]))
        assert server.get("/v1/pets?limit=2", key).json() == [made.json(), newest]
        assert server.send("GET", "/v1/pets").status == 401
