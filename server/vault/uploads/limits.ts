/** The limits of an uploaded archive. `spec/limits.md` lists them. */

export const uploadLimits = {
  /** Bytes of the archive. */
  archiveBytes: 256 * 1_048_576,
  /** Bytes of all files, unpacked. */
  unpackedBytes: 512 * 1_048_576,
  /** Bytes of one file. The import skips and reports a larger one. */
  fileBytes: 10 * 1_048_576,
  /** Entries, with those that are skipped. */
  entries: 100_000,
  /** Files that are unpacked. */
  files: 20_000,
  /** Bytes of a path, and of a name in it. */
  pathBytes: 1_000,
  nameBytes: 255,
  /** Folders above a file. */
  depth: 64,
  /** Milliseconds for unpacking and importing. */
  runMs: 30 * 60_000,
  /** Imports of one process that are being received, waiting or running. */
  atOnce: 4,
  /** The same, for one user. */
  ofOneUser: 2,
  /** Imports of an organisation that are listed. Older ones are forgotten. */
  kept: 20,
  /** Items in each list of a report. */
  listed: 500,
} as const
