/** Files that are sent as one archive, which is made while it is sent. */

export interface ArchiveFile {
  /** The path in the archive. */
  readonly path: string
  /** The size in bytes. */
  readonly size: number
  /** Seconds since 1970. */
  readonly time: number
  read(): AsyncIterable<Uint8Array>
}

export interface ArchiveContent {
  /** The name of the archive, as a readable slug. */
  readonly name: string
  /** The name as that of a folder. */
  readonly folder: string
  /**
   * Streams the files. `by` has the caller's IP address, and the signal that ends the archive.
   *
   * @throws the errors of `write`, and those of the caller's turn, before `write` is called
   */
  send(
    write: (files: AsyncGenerator<ArchiveFile>) => Promise<void>,
    by: { readonly signal: AbortSignal; readonly from: string },
  ): Promise<void>
}
