/** Assigns other files than Markdown to the nodes that show them, else to their folder. */
import { posix } from 'node:path'
import { pathProblem } from '../../../../gitstore/names.ts'
import type { PathProblem } from '../../../domain/format/path-problem.ts'
import { folded } from '../../../markdown/note-names.ts'
import { type Place, pathOf, type Tree } from '../../../markdown/tree.ts'
import { attachments } from '../../../markdown/vault-paths.ts'
import type { ShownBy } from './connections.ts'

/** A node that gets a file, and the file's path in its repository. */
export interface Attached {
  readonly place: Place
  readonly path: string
}

/**
 * Assigns each file to nodes and paths.
 *
 * In a node a file has one path: the first that the text names, so that its links work in a clone. Otherwise it is the
 * path in the folder, below `attachments/`.
 *
 * @param lost gets the files that no repository can hold
 */
export function spread(
  tree: Tree,
  files: readonly string[],
  shownBy: ReadonlyMap<string, ShownBy>,
  lost: PathProblem[],
): Map<string, Attached[]> {
  const taken = new Map<Place, Map<string, Taken>>()
  const attached = new Map<string, Attached[]>(files.map((file) => [file, []]))
  const unnamed: { file: string; place: Place }[] = []
  for (const file of files)
    for (const [place, named] of shownBy.get(file) ?? [[homeOf(file), undefined]])
      if (named === undefined || pathProblem(named) !== undefined || take(place, named) !== undefined)
        unnamed.push({ file, place })
      else attached.get(file)?.push({ place, path: named })
  const refused = new Set<string>()
  for (const { file, place } of unnamed) {
    const path = keptIn(place) + file
    const problem = pathProblem(path)
    const obstacle = problem === undefined ? take(place, path) : undefined
    if (problem !== undefined && !refused.has(file)) lost.push({ path: file, reason: problem })
    else if (obstacle !== undefined) lost.push({ path: file, reason: `not attached to ${pathOf(place)}: ${obstacle}` })
    if (problem !== undefined) refused.add(file)
    else if (obstacle === undefined) attached.get(file)?.push({ place, path })
  }
  return attached

  function homeOf(file: string): Place {
    let folder = posix.dirname(file)
    while (folder !== '.' && !tree.byFolder.has(folder)) folder = posix.dirname(folder)
    const home = tree.byFolder.get(folder)
    if (!home) throw new Error('a tree has a place for its root')
    return home
  }

  /** Returns the folder for files whose path is not named, as the text spells it. */
  function keptIn(place: Place): string {
    const spelled = taken.get(place)?.get(attachments.slice(0, -1))
    return spelled && !spelled.isFile ? `${spelled.step}/` : attachments
  }

  /** Takes a path in the node. Returns the obstacle if it exists, or a part of it differs only in case. */
  function take(place: Place, path: string): string | undefined {
    const names = taken.get(place) ?? new Map<string, Taken>()
    taken.set(place, names)
    const parts = path.split('/')
    const steps = parts.map((_, end) => ({ step: parts.slice(0, end + 1).join('/'), isFile: end === parts.length - 1 }))
    for (const { step, isFile } of steps) {
      const other = names.get(folded(step))
      const shown = other?.step.replace(attachments, '')
      if (other && other.step !== step) return `${shown} has the same name there, except for case`
      if (other && (isFile || other.isFile)) return `${shown} already exists there`
    }
    for (const { step, isFile } of steps) names.set(folded(step), { step, isFile })
    return undefined
  }
}

interface Taken {
  readonly step: string
  readonly isFile: boolean
}
