"""Join printed pages into one PDF file, and make the links between them work in that file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from urllib.parse import unquote, urldefrag

from pypdf import PageObject, PdfReader, PdfWriter
from pypdf.generic import ArrayObject, DictionaryObject, FloatObject, NameObject, NullObject

from book_tools.website.pdf_contents import Entry


def _destination(page: PageObject, top: float | None) -> ArrayObject:
    """Return a PDF destination at the given height on a page."""
    reference = page.indirect_reference
    assert reference is not None
    where = NullObject() if top is None else FloatObject(top)
    return ArrayObject([reference, NameObject("/XYZ"), NullObject(), where, NullObject()])


def _relink(page: PageObject, resolve: Callable[[str], ArrayObject | None], server: str) -> None:
    """Turn a page's links into links inside the file where possible, and remove dead links.

    Args:
        page: A page in the joined file.
        resolve: A function that takes a link's address or local name and returns its destination,
            or None if the file does not contain it.
        server: The address of the server from which the pages were printed.
    """
    kept = ArrayObject()
    for reference in page.get("/Annots", ()):
        annotation = reference.get_object()
        action = annotation.get("/A", {})
        named = annotation.get("/Dest") or action.get("/D")
        address = str(action.get("/URI", ""))
        link = address or (f"#{str(named).removeprefix('/')}" if named is not None else "")
        destination = resolve(link) if link else None
        if destination is not None:
            annotation.pop("/Dest", None)
            annotation[NameObject("/A")] = DictionaryObject(
                {NameObject("/S"): NameObject("/GoTo"), NameObject("/D"): destination}
            )
        elif not address or address.startswith(server):
            continue  # The target, such as a notebook to download, is not in the file.
        kept.append(reference)
    if kept or "/Annots" in page:
        page[NameObject("/Annots")] = kept


def join_pages(
    book: Sequence[Entry],
    printed: Mapping[str, PdfReader],
    front: PdfReader,
    numbers: PdfReader,
    server: str,
) -> PdfWriter:
    """Join the printed pages after the front matter, and fix the links between them.

    Args:
        book: The pages, in order.
        printed: The PDF of each page, keyed by the page's name.
        front: The title page and the contents.
        numbers: A PDF with as many pages as the whole file, each with its number at the bottom.
        server: The address of the server from which the pages were printed, with a trailing slash.
    """
    writer = PdfWriter()
    writer.append(front, outline_item="Contents", import_outline=False)
    first: dict[str, int] = {}
    tops: dict[tuple[str, str], tuple[int, float | None]] = {}
    for entry in book:
        reader = printed[entry.name]
        first[entry.name] = len(writer.pages)
        for name, destination in reader.named_destinations.items():
            number = reader.get_destination_page_number(destination)
            if number is not None:
                top = destination.top
                at = float(top) if isinstance(top, int | float) else None
                anchor = unquote(str(name).removeprefix("/"))
                tops[entry.name, anchor] = (first[entry.name] + number, at)
        writer.append(reader, import_outline=True)  # Each page is listed under its first heading.

    def resolver(here: str) -> Callable[[str], ArrayObject | None]:
        def resolve(link: str) -> ArrayObject | None:
            path, anchor = urldefrag(link)
            for root in (server, "https://book.invalid/"):
                path = path.removeprefix(root)
            name = path.split("?")[0].removesuffix(".html") or here
            if name not in first:
                return None
            number, top = tops.get((name, unquote(anchor)), (first[name], None))
            return _destination(writer.pages[number], top)

        return resolve

    bounds = [*first.values(), len(writer.pages)]
    sections = [("", 0, bounds[0])]
    sections += [(e.name, bounds[n], bounds[n + 1]) for n, e in enumerate(book)]
    for name, begin, end in sections:
        for number in range(begin, end):
            page = writer.pages[number]
            _relink(page, resolver(name), server)
            if name:
                page.merge_page(numbers.pages[number])
                page.compress_content_streams()  # Merging decompresses it.
    writer.add_metadata({"/Title": "JAX sharp bits", "/Author": "the authors of JAX sharp bits"})
    writer.page_mode = "/UseOutlines"
    writer.compress_identical_objects()
    return writer
