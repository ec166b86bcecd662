"""acai: versioned data, jobs, provenance and provisioning for machine-learning teams.

import acai

lake = acai.Client()
print(lake.whoami().name)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from acai.version import __version__

if TYPE_CHECKING:
    from acai.client.client import Client as Client
    from acai.client.job_handle import JobHandle as JobHandle
    from acai.client.transfer.values import Downloaded as Downloaded
    from acai.client.transfer.values import Progress as Progress
    from acai.client.transfer.values import Uploaded as Uploaded
    from acai.model.errors import AcaiError as AcaiError
    from acai.model.errors import Conflict as Conflict
    from acai.model.errors import Forbidden as Forbidden
    from acai.model.errors import InvalidInput as InvalidInput
    from acai.model.errors import NotFound as NotFound
    from acai.model.errors import Unauthenticated as Unauthenticated
    from acai.model.errors import Unavailable as Unavailable
    from acai.model.files import FileVersion as FileVersion
    from acai.model.files import Listing as Listing
    from acai.model.identity import Project as Project
    from acai.model.identity import User as User
    from acai.model.jobs import Job as Job
    from acai.model.jobs import JobDetail as JobDetail
    from acai.model.jobs import JobRequest as JobRequest
    from acai.model.jobs import JobState as JobState
    from acai.model.jobs import OutputSpec as OutputSpec
    from acai.model.provenance import Trace as Trace
    from acai.model.sets import SetVersion as SetVersion

# Looked up on first use, so that `import acai` costs a few milliseconds.
_WHERE = {
    "Client": "acai.client.client",
    "JobHandle": "acai.client.job_handle",
    "Downloaded": "acai.client.transfer.values",
    "Progress": "acai.client.transfer.values",
    "Uploaded": "acai.client.transfer.values",
    "AcaiError": "acai.model.errors",
    "Conflict": "acai.model.errors",
    "Forbidden": "acai.model.errors",
    "InvalidInput": "acai.model.errors",
    "NotFound": "acai.model.errors",
    "Unauthenticated": "acai.model.errors",
    "Unavailable": "acai.model.errors",
    "FileVersion": "acai.model.files",
    "Listing": "acai.model.files",
    "Project": "acai.model.identity",
    "User": "acai.model.identity",
    "Job": "acai.model.jobs",
    "JobDetail": "acai.model.jobs",
    "JobRequest": "acai.model.jobs",
    "JobState": "acai.model.jobs",
    "OutputSpec": "acai.model.jobs",
    "Trace": "acai.model.provenance",
    "SetVersion": "acai.model.sets",
}

__all__ = ["__version__", *sorted(_WHERE)]  # noqa: PLE0604  names, looked up above


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'acai' has no attribute {name!r}")
    return getattr(import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    return __all__
