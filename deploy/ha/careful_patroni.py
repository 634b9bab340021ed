"""Start Patroni so that a primary which was away does not take the leadership back: in /opt/patroni/bin.

    /opt/patroni/bin/python3 /opt/patroni/bin/careful_patroni.py /etc/patroni/config.yml

Patroni 4.1.5 creates the leader's key again if it is gone when a primary wants to renew it. A machine that was frozen
and continues knows nothing of its successor yet. If the successor's key vanishes just then, the old primary is the
leader again, and what the successor acknowledged is lost. Here the key is only created again while nobody has written
to `/sync` since this machine last read it: each new primary writes its name there.
"""  # noqa: INP001 - it is installed beside Patroni

import sys
from typing import Any

from patroni.__main__ import main  # type: ignore[import-not-found]  # it is in a venv of its own
from patroni.dcs.etcd3 import Etcd3, PatroniEtcd3Client, base64_encode  # type: ignore[import-not-found]

renew, txn = Etcd3.update_leader, PatroniEtcd3Client.txn


def careful_renew(dcs: Any, cluster: Any, *more: Any, **named: Any) -> Any:
    """Remember which `/sync` belongs to the view that says that we are the leader."""
    dcs.seen_sync = cluster.sync.version
    return renew(dcs, cluster, *more, **named)


def careful_txn(client: Any, compare: Any, success: Any, failure: Any = None, **named: Any) -> Any:
    """Add a condition to `failure`, which only the renewal has: what to do if the key is not ours."""
    if failure:
        dcs = client._etcd3  # noqa: SLF001 - Patroni has no other way
        same = {"key": base64_encode(dcs.sync_path), "target": "MOD", "mod_revision": str(dcs.seen_sync or 0)}
        failure["request_txn"]["compare"].append(same)
    return txn(client, compare, success, failure, **named)


def protect() -> None:
    """Let Patroni use both."""
    Etcd3.update_leader, PatroniEtcd3Client.txn = careful_renew, careful_txn


if __name__ == "__main__":
    protect()
    sys.exit(main())
