"""
The table of routes and the rights they require. The guard, the documentation and a test read it.

A path under /v1 that is not in the table requires the right to read, before the response says that
it does not exist. Everything else is the page, which holds no data.
"""

from casegraph.service.guard import Rule
from casegraph.service.keys import Right

OPEN = Rule(Right.NOTHING)
READ = Rule(Right.READ)
WRITE = Rule(Right.WRITE)
STREAM = Rule(Right.READ, streams=True)
FILE = Rule(Right.WRITE, is_file=True)

ROUTES: dict[tuple[str, str], Rule] = {
    ("GET", "/healthz"): OPEN,
    ("GET", "/readyz"): OPEN,
    ("GET", "/metrics"): READ,
    ("GET", "/v1/openapi.json"): OPEN,
    ("GET", "/v1/info"): READ,
    ("GET", "/v1/suggestions"): READ,
    ("GET", "/v1/ask"): READ,
    ("POST", "/v1/ask"): READ,
    ("GET", "/v1/explain"): READ,
    ("GET", "/v1/similar"): READ,
    ("POST", "/v1/what-if"): READ,
    ("POST", "/v1/counterfactual"): READ,
    ("GET", "/v1/entity"): READ,
    ("GET", "/v1/search"): READ,
    ("GET", "/v1/relations"): READ,
    ("GET", "/v1/types"): READ,
    ("GET", "/v1/clusters"): READ,
    ("GET", "/v1/clusters/tree"): READ,
    ("GET", "/v1/clusters/members"): READ,
    ("GET", "/v1/path-types"): READ,
    ("GET", "/v1/history"): READ,
    ("GET", "/v1/events"): STREAM,
    ("POST", "/v1/update"): WRITE,
    ("POST", "/v1/preview"): FILE,
    ("POST", "/v1/import"): FILE,
    ("GET", "/v1/jobs"): READ,
    ("POST", "/v1/jobs"): WRITE,
    ("GET", "/v1/jobs/{job}"): READ,
    ("DELETE", "/v1/jobs/{job}"): WRITE,
    ("GET", "/v1/jobs/{job}/rows"): READ,
    ("GET", "/v1/jobs/{job}/result"): READ,
}
JOBS = "/v1/jobs/"


def rule_of(method: str, path: str) -> tuple[str, Rule]:
    """The route that a request is for, as the table has it, and what it needs."""
    route = path
    if path.startswith(JOBS):
        _, _, rest = path.removeprefix(JOBS).partition("/")
        route = f"{JOBS}{{job}}/{rest}" if rest else f"{JOBS}{{job}}"
    asked = "GET" if method == "HEAD" else method
    rule = ROUTES.get((asked, route))
    if rule is not None:
        return route, rule
    if path.startswith("/v1"):
        return "/v1 (unknown)", READ
    return "/", OPEN
