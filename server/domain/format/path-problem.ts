import { excerpt } from '../../base/excerpt.ts'

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
  /** The rule of the node's type that is broken. */
  readonly typed?: BrokenTypeRule
}

/** A problem that is a broken rule of the node's type. */
export type TypeRuleProblem = ContentProblem & Required<Pick<ContentProblem, 'typed'>>

/** Returns a problem as one line. Edges are named by the reason, because a rule is about several files. */
export function toProblemLine({ path, reason, typed }: ContentProblem): string {
  return typed && typed.pointer === undefined ? reason : `${excerpt(path)}: ${reason}`
}

/** A rule of a type, and the place that breaks it. */
interface BrokenTypeRule {
  /** The name of the type. Absent if nobody defined it. */
  readonly type?: string
  /** The blob of its definition. */
  readonly version?: string
  /** The keyword of the definition. */
  readonly rule: string
  /** The place, such as `properties.steps[2].name`. */
  readonly place: string
  /** The sentence without the line and the type. */
  readonly says: string
  /** The JSON pointer into `node.json`. Absent for edges. */
  readonly pointer?: string
  /** The line of `node.json`, counted from 1. Absent for edges. */
  readonly line?: number
}
