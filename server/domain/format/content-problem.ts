/** What of a node's files breaks a rule. */
export interface ContentProblem {
  readonly path: string
  readonly reason: string
  /** Of a rule that is younger than some repositories: by how much it is broken. What broke it no less before may stay. */
  readonly excess?: number
}
