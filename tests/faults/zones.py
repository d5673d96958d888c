# SPDX-License-Identifier: Apache-2.0
"""A deployment on a real broker whose zones are apart, and what a test sees when one of their workers is killed."""

from __future__ import annotations

import http.client
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from murmurate.config.secrets import NAMES, ZONE_SECRETS
from murmurate.topics.names import ZONES, Zone
from tests.faults.chaos import Chaos
from tests.faults.deployed import RUN, Deployed, Process


class Zones:
    """A deployment whose zones are apart: a folder each, with the deployment file and the zone's own secrets."""

    def __init__(self, deployed: Deployed) -> None:
        self.deployed, self.workers = deployed, dict[Zone, Process]()
        self.folders: dict[Zone, Path] = {zone: deployed.folder / zone for zone in ZONES}
        text = deployed.file.read_text()
        for zone, folder in self.folders.items():
            (folder / "tmp").mkdir(parents=True)
            mine = text
            for secret in NAMES:
                mine = mine.replace(f'"{deployed.folder / secret}"', f'"{folder / secret}"')
            (folder / "murmurate.toml").write_text(mine)
            for secret in ZONE_SECRETS[zone]:
                self.hand_over(secret, zone)

    def hand_over(self, secret: str, zone: Zone) -> None:
        (self.folders[zone] / secret).write_text((self.deployed.folder / secret).read_text())

    def worker(self, zone: Zone) -> Process:
        folder = self.folders[zone]
        args = [*RUN, "worker", "-c", str(folder / "murmurate.toml"), "--zone", zone, "--instance", zone]
        web = {"MURMURATE__WEB__LISTEN": "127.0.0.1:0", "MURMURATE__WEB__EDGE": "127.0.0.1:0"}
        found = Process(args, folder / "worker.log", web | {"TMPDIR": str(folder / "tmp")})
        self.deployed.others.append(found)
        self.workers[zone] = found
        return found

    def served(self, zone: Zone) -> dict[str, bytes]:
        """What a worker's addresses answer, by URL."""
        worker, found = self.workers[zone], {}
        for url in next(line["at"] for line in worker.lines() if line["message"] == "serving"):
            for path in ("/metrics", "/readyz", "/healthz"):
                connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=10)
                connection.request("GET", path)
                answer = connection.getresponse()
                assert answer.status == 200, (zone, path)
                found[f"{url}{path}"] = answer.read()
                connection.close()
        return found

    def files(self, zone: Zone) -> dict[Path, bytes]:
        """Everything in its folder, but for what it was given: logs, and whatever the worker keeps."""
        given = {"murmurate.toml", *ZONE_SECRETS[zone]}
        every = [path for path in self.folders[zone].rglob("*") if path.is_file()]
        return {path: path.read_bytes() for path in every if path.name not in given}


def mixing_dies(deployed: Deployed, source: str, wanted: Sequence[bytes], *, kills: int, wait_s: float) -> None:
    """The mixing zone's worker is killed so often: the releases are the wanted ones, and the auditor is silent."""
    zones = Zones(deployed)
    for zone in ZONES:
        zones.worker(zone).until('"ready"', 300.0)
    deployed.workers.append(zones.workers["mixing"])  # the only one that chaos hits, and starts again
    chaos = Chaos(deployed, seed=3, pause_s=2.5)
    chaos.plan([chaos.kill] * kills)
    feed = deployed.feed(source, "--speed", "1.5x")
    found = deployed.releases(len(wanted), wait_s, chaos)
    assert found == wanted, deployed.blame(found, wanted)
    chaos.finish()
    assert chaos.kills == kills
    assert feed.wait() == 0
    audit = deployed.run("audit", "ledger", "--json")
    assert audit.returncode == 0, audit.stdout + audit.stderr
