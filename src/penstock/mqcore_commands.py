"""`penstock mq-core`: MQ-Core's three daemons, one at a time."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import Any

import click

from penstock.config import Config

Announce = Callable[[list[tuple[str, list[str]]], str], None]
Decorate = Callable[[Callable[..., None]], Callable[..., None]]


def mqcore_group(
    setting_options: Decorate, config_from: Callable[..., Config], announce: Announce
) -> click.Group:
    """The commands; the settings are read as those of `penstock serve` are."""

    @click.group("mq-core")
    def group() -> None:
        """MQ-Core's daemons on the folders of --store spool:PATH; `penstock serve` is all three."""

    @group.command()
    @setting_options
    def mq(**options: Any) -> None:
        """Answer requests. Messages go on from `new` and `delay` only while a mover runs somewhere."""
        from penstock import mqcore_daemons  # noqa: PLC0415 - it loads the server

        sys.exit(mqcore_daemons.run_mq(config_from(**options), announce))

    @group.command()
    @setting_options
    def mover(**options: Any) -> None:
        """Move new messages to their queues, and fetched ones back when their delay is over."""
        from penstock import mqcore_daemons  # noqa: PLC0415 - it loads the stores

        config = config_from(**options)
        _start_log(config)
        mqcore_daemons.run_mover(config)

    @group.command()
    @setting_options
    def reaper(**options: Any) -> None:
        """Unlink removed messages."""
        from penstock import mqcore_daemons  # noqa: PLC0415 - it loads the stores

        config = config_from(**options)
        _start_log(config)
        mqcore_daemons.run_reaper(config)

    return group


def _start_log(config: Config) -> None:
    logging.basicConfig(level=config.log_level.upper(), format="%(message)s")
