"""Where the pages of a store are written, unless a user names another folder."""

from pathlib import Path

from ...errors import UserError
from .store import Store


def pages_folder(store: Store) -> Path:
    """The folder of a store's pages. Raises UserError if they would be written through a link: a store may be a stranger's."""
    output = Path(store.root if store.is_local else "results").absolute() / "pages"
    for path in (output, *output.rglob("*")):
        if path.is_symlink():
            raise UserError(
                f"pages {path}: is a link, and nothing is written through it; remove it, or write pages elsewhere with"
                " `folklore report --output FOLDER`"
            )
    return output
