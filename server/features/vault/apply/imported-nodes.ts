/** Planned nodes, with their files, edges and messages of commits. */
import { edgeIdAt, liesIn } from '../../../domain/format/paths.ts'
import type { NodeFiles } from '../../../domain/nodes/node-creation.ts'
import type { PlannedNode } from '../plan/plan.ts'

/** A planned node to write. The paths are for messages, and `files` includes the edges. */
export interface ImportedNode extends Readonly<Omit<PlannedNode, 'files' | 'parents'>> {
  readonly files: NodeFiles
}

/** Returns the message of an import's commit. */
export function importMessage({ path, movedFrom }: ImportedNode): string {
  return `${importWord} ${path}${movedFrom === undefined ? '' : `, before ${movedFrom}`}`
}

const importWord = 'Import'

/** True if the commit's message is that of an import. */
export function isImports(message: string): boolean {
  return message.startsWith(`${importWord} `)
}

/** Removes edges to these nodes. */
export function withoutEdgesTo(lost: ReadonlySet<string>, files: NodeFiles): NodeFiles {
  return new Map([...files].filter(([path, bytes]) => !lost.has(otherEnd(path, bytes) ?? '')))
}

/** Returns the id of the other node, if the file is an edge. */
export function otherEnd(path: string, bytes: Buffer): string | undefined {
  const parent = edgeIdAt('parents', path)
  if (parent !== undefined || !liesIn('connections', path)) return parent
  return (JSON.parse(bytes.toString()) as { target: string }).target // written by the plan
}
