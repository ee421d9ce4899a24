import pytest
from tests.storage.test_optimistic_writes import SPACE

import allweather as aw
from allweather.storage import Database, names
from allweather.storage.backup import backup_lines, restore_lines


def test_a_backup_is_restored_whole_or_not_at_all(tmp_path):
    url = f"sqlite:///{tmp_path}/studies.db"
    for name in ("one", "two"):
        study = aw.Study(SPACE, storage=url, name=name)
        study.tell(study.ask(), 1.0, context={"demand": 0.5})
    lines, empty = list(backup_lines(Database(url))), Database(f"sqlite:///{tmp_path}/other.db")
    with pytest.raises(aw.InvalidInput, match="line 3"):
        restore_lines(empty, [*lines[:-1], lines[-1].replace("0.5", "7.0")])
    assert names(empty) == []
    assert restore_lines(empty, lines) == ["one", "two"]
    assert list(backup_lines(empty)) == lines
    with pytest.raises(aw.InvalidInput, match="no study of the same name"):
        restore_lines(empty, lines)
