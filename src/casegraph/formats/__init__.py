"""Facts and descriptions of entities in files of many kinds, on the way in and on the way out."""
