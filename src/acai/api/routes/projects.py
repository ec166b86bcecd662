"""Projects: the isolated workspaces of the platform."""

from __future__ import annotations

from pydantic import BaseModel

from acai.api.needs import Caller, Needs, Platform, Routes
from acai.api.paging import Cursor, Limit, Page, decode_cursor, page
from acai.model.identity import NewProject, Project

routes = Routes("projects")


class ProjectToCreate(BaseModel):
    name: str
    admin: str


@routes.on("POST", "/projects", Needs.GLOBAL_ADMIN, status_code=201)
def create_project(body: ProjectToCreate, platform: Platform) -> NewProject:
    """Make a project with its first admin, whose token is in the answer and nowhere else."""
    return platform.identity.create_project(body.name, body.admin)


@routes.on("GET", "/projects", Needs.TOKEN)
def list_projects(
    caller: Caller, platform: Platform, limit: Limit = 100, cursor: Cursor = None
) -> Page[Project]:
    """The projects that the caller may see, by name."""
    after = decode_cursor(cursor, "")
    found = platform.identity.projects(caller, after=after, limit=limit + 1)
    return page(found, limit, lambda project: project.name)
