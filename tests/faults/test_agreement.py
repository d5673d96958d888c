# SPDX-License-Identifier: Apache-2.0
"""Config and keys are compared with the record in `rounds` before anybody joins; it changes as far as it may."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from murmurate.agents.cli.replay import known_secrets
from murmurate.agents.kafka.agreement import compare
from murmurate.agents.kafka.client import Described, Place, Write
from murmurate.agents.kafka.errors import AgreementError, TopicsError
from murmurate.agents.kafka.provision import Report, create
from murmurate.config.loader import load
from murmurate.config.planning import plan as planned
from murmurate.config.secrets import NAMES, ZONE_SECRETS, fingerprints
from murmurate.topics.codec import encode
from murmurate.topics.messages import Config
from tests.faults.deployed import Deployed
from tests.faults.inside import inside, now_ms
from tests.faults.recordings import deployment

DEPLOYMENT = deployment(partitions=1)
OTHER = "f0" * 16 + "0123456789abcdef" * 2
CHANGED = {
    "MURMURATE__PRIVACY__MIN_BATCH": ("7", "privacy.min_batch: found 7; allowed: 20"),
    "MURMURATE__PRIVACY__EPSILON": ("2", "privacy.epsilon_micro: found 2000000; allowed: 1000000"),
    "MURMURATE__TIME__PATIENCE": ("9s", "time.patience_ms: found 9000; allowed: 60000"),
    "MURMURATE__TIME__CLOCK": ("wall", "time.clock: found wall; allowed: feed"),
    "MURMURATE__STREAMS__SCREEN__OTHER": ("true", 'streams.screen.domain: found {"other":true'),
}


def keys(deployed: Deployed, **changed: str) -> dict[str, str]:
    """Fingerprints of all secrets."""
    return fingerprints(known_secrets(deployed.plan.name), deployed.plan.name) | changed


async def compared(deployed: Deployed, secrets: Mapping[str, str], **environ: str) -> int:
    """What a worker with this environment does before it joins."""
    this = load(deployed.file, environ)
    return (await compare(deployed.client, planned(this), secrets, fed=this.time.clock == "feed")).number


async def created(deployed: Deployed, secrets: Mapping[str, str], **environ: str) -> Report:
    """What `topics create` does with this environment."""
    this = load(deployed.file, environ)
    return await create(deployed.client, this, planned(this), secrets, now_ms=now_ms())


def test_who_differs_joins_nobody_says_what_differs_and_disturbs_nobody(deployed: Deployed, tmp_path: Path) -> None:
    (tmp_path / "other").write_text(OTHER + "\n")
    mine, name = keys(deployed), deployed.plan.name
    other = fingerprints({"pepper": bytes.fromhex(OTHER)}, name)["pepper"]

    async def scenario() -> None:
        async with inside(deployed, ("mixing",)) as this:
            stranger = deployed.worker(env={"MURMURATE__SECRETS__PEPPER__FILE": str(tmp_path / "other")})
            await this.ready()
            assert await compared(deployed, mine) == 1
            for key, (value, said) in CHANGED.items():
                with pytest.raises(AgreementError) as refusal:
                    await compared(deployed, mine, **{key: value})
                assert said in str(refusal.value)
                assert "\n" not in str(refusal.value)
            assert await compared(deployed, {}) == 1  # who holds no secret compares none
            with pytest.raises(AgreementError, match=r"secrets.shuffle of the mixing zone: found fingerprint 0{16}"):
                await compared(deployed, {"shuffle": "0" * 16})
            async with deployed.client.sender() as sender:  # what is nobody's changes nothing, for anybody
                place = Place(f"{name}.rounds", 0)
                forged = Config(number=7, values={"privacy.min_batch": 1}, secrets={})
                await sender.send([Write(place, b'{"schema":"murmurate/config/1"}'), Write(place, encode(forged))])
            assert await compared(deployed, mine) == 1
            stopped = await created(deployed, mine, MURMURATE__PRIVACY__MIN_BATCH="7")
            assert stopped.config is None
            assert stopped.refused == (
                "privacy.min_batch: found 7; allowed: 20 while a worker runs shuffle: stop those workers, run this "
                "again, and start them",
            )
            assert await asyncio.to_thread(stranger.wait) == 2
            (line,) = [line for line in stranger.lines() if line["level"] == "ERROR" and "logger" not in line]
            said = f"secrets.pepper of the edge zone: found fingerprint {other}; allowed: {mine['pepper']}"
            assert line["message"].startswith(f"config 1 in {name}.rounds: {said} (see ")
            async with deployed.client.admin() as admin:
                members = {stage: set((await admin.owners(f"{name}-{stage}"))[1]) for stage in ("door", "shuffle")}
            assert (len(members["door"]), len(members["shuffle"])) == (0, 1)
            assert this.worker.ready
            assert not this.running.done()

    asyncio.run(asyncio.wait_for(scenario(), 120))


def test_what_may_change_makes_a_new_record_and_what_may_not_is_refused(deployed: Deployed, tmp_path: Path) -> None:
    mine, plan = keys(deployed), deployed.plan

    async def scenario() -> None:
        again = await created(deployed, mine)
        assert (again.config, again.refused, again.uncompared) == (None, (), ())
        changed = {"MURMURATE__PRIVACY__MIN_BATCH": "7", "MURMURATE__TIME__PATIENCE": "9s"}
        assert (await created(deployed, mine, **changed)).config == 2
        assert await compared(deployed, mine, **changed) == 2
        with pytest.raises(AgreementError, match=r"config 2 .* privacy.min_batch: found 20; allowed: 7; time.patience"):
            await compared(deployed, mine)
        rotated = keys(deployed, shuffle="f" * 16)
        assert (await created(deployed, rotated, **changed)).config == 3
        assert await compared(deployed, rotated, **changed) == 3
        edge: dict[str, str] = {name: mine[name] for name in ZONE_SECRETS["edge"]}
        assert (await created(deployed, edge, **changed)).config is None  # what nobody tells here was told before
        for secrets, environ, said in (
            (rotated | {"pepper": "0" * 16}, changed, "secrets.pepper of the edge zone: found fingerprint 0000"),
            (rotated, changed | {"MURMURATE__PRIVACY__EPSILON": "2"}, "privacy.epsilon_micro: found 2000000; allowed"),
            (rotated, changed | {"MURMURATE__STREAMS__SCREEN__OTHER": "true"}, "streams.screen.domain: found "),
        ):
            report = await created(deployed, secrets, **environ)
            assert report.config is None
            assert report.refused[0].startswith(said)
            assert report.refused[0].endswith("another needs a deployment of another name)")
        assert await compared(deployed, rotated, **changed) == 3
        async with inside(deployed, ("mixing",), compare=lambda: compared(deployed, mine)) as late:
            assert (await late.failure()).startswith("AgreementError: config 3 in ")  # it had joined meanwhile
        other = replace(plan, name=f"{plan.name[:20]}-before")
        async with deployed.client.admin() as admin:
            await admin.create({f"{other.name}.rounds": Described(1, 1, {})})
        with pytest.raises(TopicsError, match=r"found no config record; .* \(see `murmurate topics create`\)"):
            await compare(deployed.client, other, mine, fed=True)

    assert set(mine) == set(NAMES)
    asyncio.run(asyncio.wait_for(scenario(), 120))
