"""What the routes call: the platform's services, chosen and joined by `wiring`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from acai.engine.changes import Changes
from acai.engine.hints import Hints
from acai.engine.logs import Logs
from acai.engine.registry import Registry
from acai.engine.reports import Reports
from acai.identity.service import Identity
from acai.identity.sessions import Sessions
from acai.lake.files import Files
from acai.lake.metadata import Metadata
from acai.lake.provenance import Provenance
from acai.lake.search import Search
from acai.lake.sets import Sets
from acai.lake.specs import Specs
from acai.lake.uploads import Uploads
from acai.lake.vocabulary import Vocabulary
from acai.settings import Settings
from acai.stores.objects.base import SigningStore

if TYPE_CHECKING:
    from acai.provisioning.service import Provisioning


@dataclass(frozen=True, kw_only=True)
class Services:
    settings: Settings
    identity: Identity
    sessions: Sessions
    objects: SigningStore
    uploads: Uploads
    files: Files
    specs: Specs
    sets: Sets
    provenance: Provenance
    metadata: Metadata
    search: Search
    vocabulary: Vocabulary
    hints: Hints
    registry: Registry
    reports: Reports
    logs: Logs
    changes: Changes
    provisioning: Callable[[], Provisioning]  # made at its first use
    checks: dict[str, Callable[[], None]]  # readiness: each raises when its part is not ready
