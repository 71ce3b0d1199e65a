"""Which numbers of a row come from which column."""

from record_data import DECLARED, events, one_by_one

from mixable.model.importance import _owners
from mixable.records import Columns, Encoder


def test_the_pieces_of_a_row_cover_it_without_overlap():
    encoder = Encoder(DECLARED)
    one_by_one(encoder, events(200))
    for record in events(40, seed=1):
        record["new word"] = 3
        row, found = encoder.explain(record)
        own = [piece for piece in found if not piece.is_cross]
        pairs = [piece for piece in found if piece.is_cross]
        assert [key for piece in own for key in piece.keys] == list(range(len(row.keys)))
        assert [key for piece in pairs for key in piece.keys] == list(range(len(row.cross_keys)))
        places = [place for piece in own for place in piece.places]
        assert len(set(places)) == len(places)
        for piece in own:
            assert piece.value is record.get(piece.column)
            assert piece.column in record or piece.keys  # a number that is absent has a key
        assert all(set(piece.column) <= set(record) for piece in pairs)


def test_keys_are_named_after_the_column_of_their_piece():
    encoder = Encoder(Columns(number=["n"], category=["c"], tags=["t"], cross=["c*t"]))
    record = {"c": "x", "t": ["u", "v"]}
    encoder.learn({"n": 1.0, **record})
    row, found = encoder.explain(record)
    named = {
        piece.column: [
            encoder.name((row.cross_keys if piece.is_cross else row.keys)[key])
            for key in piece.keys
        ]
        for piece in found
    }
    assert named == {
        "n": ["n is missing"],
        "c": ["c=x"],
        "t": ["t=u", "t=v"],
        ("c", "t"): ["c=x & t=u", "c=x & t=v"],
    }
    assert found[-1].value == ("x", ["u", "v"])


def test_each_key_that_is_remembered_has_a_column():
    encoder = Encoder(Columns(text=["query"], number=["price"]))
    record = {"query": "red hat", "user": "u: 1", "price": "free", "tags": ["a=b"]}
    encoder.learn(record)
    row, parts = encoder.explain(record)
    found = _owners(encoder)
    for part in parts:
        assert {found[key] for key in row.keys[list(part.keys)].tolist()} == {part.column}
