/** What is wrong at a path: of a node's files, of a folder to import, of the data folder or a backup. */
export interface PathProblem {
  /** '/'-separated, relative to what the problem is of. */
  readonly path: string
  readonly reason: string
}

/** A file of a node that breaks a rule. */
export interface ContentProblem extends PathProblem {
  /** By how much, of a rule that is younger than some repositories. Content that broke it as much before may stay. */
  readonly excess?: number
}
