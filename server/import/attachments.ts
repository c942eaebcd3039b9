/** Where the files that are not Markdown go: into every node that shows them, else into their folder's. */
import { posix } from 'node:path'
import { pathProblem } from '../../gitstore/names.ts'
import type { PathProblem } from '../domain/format/path-problem.ts'
import { folded } from '../domain/vault/note-names.ts'
import type { Place, Tree } from '../domain/vault/tree.ts'
import { attachments } from '../domain/vault/vault-nodes.ts'

/** The path that a file of the folder has in a node's repository. */
export function attachmentPath(file: string): string {
  return attachments + file
}

/**
 * The nodes that get each of `files`, by file.
 *
 * @param shownBy the nodes that link to or embed a file
 * @param lost gets what no repository can hold
 */
export function spread(
  tree: Tree,
  files: readonly string[],
  shownBy: ReadonlyMap<string, ReadonlySet<Place>>,
  lost: PathProblem[],
): Map<string, Place[]> {
  const spellings = new Map<Place, Map<string, string>>()
  const places = new Map<string, Place[]>()
  for (const file of files) {
    const reason = pathProblem(attachmentPath(file))
    if (reason !== undefined) lost.push({ path: file, reason })
    else
      places.set(
        file,
        [...(shownBy.get(file) ?? [homeOf(file)])].filter((place) => isFree(place, file)),
      )
  }
  return places

  function homeOf(file: string): Place {
    let folder = posix.dirname(file)
    while (folder !== '.' && !tree.byFolder.has(folder)) folder = posix.dirname(folder)
    const home = tree.byFolder.get(folder)
    if (!home) throw new Error('a tree has a place for its root')
    return home
  }

  /** Whether nothing in the node yet differs from the file, or from a folder above it, in case alone. */
  function isFree(place: Place, file: string): boolean {
    const taken = spellings.get(place) ?? new Map<string, string>()
    spellings.set(place, taken)
    const steps = file.split('/').map((_, end, names) => names.slice(0, end + 1).join('/'))
    for (const step of steps) {
      const other = taken.get(folded(step)) ?? step
      if (other !== step) {
        lost.push({
          path: file,
          reason: `not attached to ${place.file ?? place.folder}: but for case, ${other} there has its name`,
        })
        return false
      }
    }
    for (const step of steps) taken.set(folded(step), step)
    return true
  }
}
