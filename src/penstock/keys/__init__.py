"""Who may do what: keys, their grants, and the file that keeps them.

    grants   what a key allows, and what a request needs          pure
    needs    what each command needs                               pure
    rates    how often a key may be used                           pure
    ring     all keys, as one value                                pure
    holders  whoever shows a key, while it is in force             pure
    file     the ring on disk, shared by the server and the command line

A key is a text that is shown once. What is kept is its SHA-256: whoever reads the file can use no key.
"""
