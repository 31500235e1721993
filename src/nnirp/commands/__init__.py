"""The commands of `nnirp`, one file a subject; each reads its arguments, calls the library and shows the answer."""
