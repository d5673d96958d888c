# SPDX-License-Identifier: Apache-2.0
"""What goes wrong between a worker and its brokers, by what the caller does about it."""

from murmurate.errors import MurmurateError, UsageError


class BrokerError(MurmurateError):
    """Something about the brokers: the command line ends with exit 3."""


class AwayError(BrokerError):
    """Nobody answers, or not in time: try again later, with new producers and consumers."""


class RefusedError(BrokerError):
    """The brokers refuse who we are, or what we want: somebody has to change that."""


class LockedOutError(BrokerError):
    """Nobody gets in by these settings, whatever they want there: somebody has to change [kafka]."""


class FencedError(BrokerError):
    """Another instance has taken over: this one must not write again."""


class TopicsError(BrokerError):
    """A topic is missing or not as it has to be."""


class LostRecordsError(BrokerError):
    """Records that a recovery needs are gone: retention was too short, or somebody deleted them."""


class NameTakenError(UsageError):
    """Another worker has started under the same name: this one ends."""


class AgreementError(UsageError):
    """A file or a secret is not what the deployment has agreed on: whoever has it joins nobody."""
