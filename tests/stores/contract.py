"""What every store has to do, told in commands and outcomes.

A store's test class derives from `StoreContract` and says how the store is opened. Each test ends with the
store's own check, with the journal followed anew in an empty store, and with the store opened once more:
neither may change anything.
"""

from __future__ import annotations

from tests.stores.contract_delivery import DeliveryContract
from tests.stores.contract_endings import EndingContract
from tests.stores.contract_queues import QueueContract


class StoreContract(DeliveryContract, EndingContract, QueueContract):
    """Every store passes all of this."""
