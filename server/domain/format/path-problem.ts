/**
 * A problem at a path. The path is a node's file, a file to import, or a file of the data folder or a backup.
 */
export interface PathProblem {
  /** Relative to the node, the imported folder, the data folder or the backup; separated by '/'. */
  readonly path: string
  readonly reason: string
}

/** A node's file that breaks a rule. */
export interface ContentProblem extends PathProblem {
  /**
   * The excess over a rule that is newer than some repositories. Content that exceeded it as much before is accepted.
   */
  readonly excess?: number
}
