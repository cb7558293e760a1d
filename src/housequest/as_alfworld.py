"""Stands in for ``alfworld``, and for the parts of ``textworld`` that its users need, without a change of their code.

Importing this module, before either of them, puts the native engine behind their names in this process. The command does the
same for a script: ``python -m housequest.as_alfworld SCRIPT [ARGUMENT...]``, or ``-m MODULE [ARGUMENT...]``; after
``--accept-put``, ``put X in/on Y`` is played as ``move X to Y``. If a program starts processes that do not inherit its modules,
the module that they load needs the import.

With ``--thor`` before the script, it leaves alfworld alone and stands in for ``ai2thor`` 2.1, so ALFWorld's ``ThorEnv`` and
ALFRED's evaluation run in our stand-in for AI2-THOR (`housequest.worlds.alfred.older`).
"""

from __future__ import annotations

import sys

try:
    from housequest.worlds.dropin.stand_in import main, stand_in
except ModuleNotFoundError as error:
    if error.name != "housequest.worlds.dropin":
        raise
    reason = "`dropin` is not installed here, and so nothing stands in for alfworld."
    if __name__ == "__main__":
        sys.exit(reason)
    raise ImportError(reason) from error

if __name__ == "__main__" and sys.argv[1:2] == ["--thor"]:
    try:
        from housequest.worlds.alfred.older import stand_in_for_thor
    except ModuleNotFoundError as error:
        if error.name != "housequest.worlds.alfred":
            raise
        sys.exit("`alfred` is not installed here, and so nothing stands in for ai2thor.")
    stand_in_for_thor()
    main(sys.argv[2:])
else:
    stand_in()
    if __name__ == "__main__":
        main(sys.argv[1:])
