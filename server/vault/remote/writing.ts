/** Writes a planned folder as nodes of a Grove elsewhere: new ones in batches, changed ones by a commit each. */
import { counted } from '../../base/counted.ts'
import type { PathProblem } from '../../domain/format/path-problem.ts'
import { liesIn } from '../../domain/format/paths.ts'
import type { NodeFiles } from '../../domain/nodes/node-creation.ts'
import { type ImportedNode, type ImportInput, lostEdges, type Statuses, withoutEdgesTo } from '../apply/imports.ts'
import { createInBatches } from './batches.ts'
import { type Remote, type RemoteAnswer, RemoteFault, RemoteRefusal } from './client.ts'
import { compareNode, type Difference, isEdited, isNone } from './comparison.ts'
import { changesOf, messageOf } from './items.ts'
import { inTurn } from './turns.ts'

/** What lets the import go on. */
function continuation(error: RemoteFault | RemoteRefusal): string {
  const { code } = error instanceof RemoteRefusal ? error : {}
  if (code === 'token_scope')
    return '. An import needs a personal access token of access write for this organisation: create one, and run the same command with it'
  return code === 'forbidden' ? '' : ', and the same command continues'
}

interface Written {
  readonly statuses: Statuses
  /** Ids of nodes that differ and whose last commit was no import's. */
  readonly edited: ReadonlySet<string>
  readonly removed: readonly string[]
  readonly problems: readonly PathProblem[]
}

/**
 * As importNodes; a repeated call completes an interrupted one. Every node is whole at each moment, but for edges to nodes that
 * come later, and files that are too much for one request.
 *
 * @param org the path of the organisation
 * @param known the ids of its nodes
 * @throws RemoteRefusal, RemoteFault: what is written stays, and the message says how much it is; the reason of the signal
 */
export async function writeRemotely(
  remote: Remote,
  org: string,
  known: ReadonlySet<string>,
  input: ImportInput,
): Promise<Written> {
  const { nodes, removed, dryRun = false, onProgress } = input
  const statuses = new Map<string, 'created' | 'updated' | 'unchanged'>()
  const problems = new Map<string, string>()
  const gone: string[] = []
  const edited = new Set<string>()
  const steps = nodes.length + removed.length
  const progress = () => onProgress(Math.min(statuses.size + problems.size + gone.length, steps), steps)
  try {
    const differences = await compareAll()
    const fresh = nodes.filter(({ id }) => !differences.has(id))
    if (dryRun) for (const { id } of fresh) statuses.set(id, 'created')
    if (dryRun) for (const [id, one] of differences) statuses.set(id, isNone(one) ? 'unchanged' : 'updated')
    else await write(differences, fresh)
    for (const { id, path } of removed) {
      if (!dryRun) await remove(id, path)
      else gone.push(path)
      progress()
    }
  } catch (error) {
    const done = [...statuses.values()].filter((status) => status !== 'unchanged').length
    if (dryRun || !(error instanceof RemoteFault || error instanceof RemoteRefusal)) throw error
    const message = `${error.message}; ${done} of ${counted(nodes.length, 'node')} were written${continuation(error)}`
    throw error instanceof RemoteFault ? new RemoteFault(message) : new RemoteRefusal(message, error.code)
  }
  const refused = [...nodes, ...removed].flatMap(({ id, path }) => {
    const reason = problems.get(id)
    return reason === undefined ? [] : [{ path, reason }]
  })
  return { statuses, edited, removed: gone, problems: refused }

  /** Of those that are there. */
  async function compareAll(): Promise<Map<string, Difference>> {
    const found = new Map<string, Difference>()
    await inTurn(
      nodes.filter(({ id }) => known.has(id)),
      async ({ id, files }) => {
        const difference = await compareNode(remote, pathOf(id), files)
        if (!difference) return
        found.set(id, difference)
        if (!isNone(difference) && (await isEdited(remote, pathOf(id)))) edited.add(id)
      },
    )
    return found
  }

  async function write(differences: ReadonlyMap<string, Difference>, fresh: readonly ImportedNode[]): Promise<void> {
    for (const [id, one] of differences) if (isNone(one)) statuses.set(id, 'unchanged')
    const { unfinished, lost } = await createInBatches(remote, org, fresh, (id, outcome) => {
      if (typeof outcome === 'string') statuses.set(id, outcome)
      else problems.set(id, outcome.reason)
      progress()
    })
    const files = new Map<string, NodeFiles>()
    for (const node of nodes) {
      const kept = lost.size === 0 ? node.files : withoutEdgesTo(lost, node.files)
      if (kept.size < node.files.size && !problems.has(node.id))
        problems.set(node.id, lostEdges(node.files.size - kept.size))
      files.set(node.id, kept)
    }
    const changed = nodes.filter(({ id }) => {
      const one = differences.get(id)
      return one && !isNone(one)
    })
    const isParent = (path: string) => liesIn('parents', path)
    const movesParents = ({ id }: ImportedNode) => {
      const { puts = [], deletes = [] } = differences.get(id) ?? {}
      return puts.some(isParent) || deletes.some(isParent)
    }
    // Parents before children, one after the other: no cycle lies between what was and what is to be.
    for (const node of changed.filter(movesParents)) await update(node, differences.get(node.id))
    await inTurn(
      changed.filter((node) => !movesParents(node)),
      (node) => update(node, differences.get(node.id)),
    )
    await inTurn(unfinished, async (node) => {
      const kept = files.get(node.id) ?? node.files
      await commit(node, kept, await compareNode(remote, pathOf(node.id), kept))
    })

    async function update(node: ImportedNode, difference: Difference | undefined): Promise<void> {
      const kept = files.get(node.id) ?? node.files
      const { puts = [], deletes = [] } = difference ?? {}
      const left = { puts: puts.filter((path) => kept.has(path)), deletes }
      const isWritten = isNone(left) || (await commit(node, kept, left))
      if (isWritten) statuses.set(node.id, isNone(left) ? 'unchanged' : 'updated')
      progress()
    }
  }

  /** False where it is refused; the refusal is among the problems. */
  async function commit(node: ImportedNode, files: NodeFiles, difference: Difference | undefined): Promise<boolean> {
    for (const changes of changesOf(files, difference ?? { puts: [], deletes: [] })) {
      const body = `{"message":${JSON.stringify(messageOf(node))},"changes":[${changes.join(',')}]}`
      const answer = await remote.send('POST', `${pathOf(node.id)}/tree/main/commits`, body)
      // Sent twice where the first answer was lost.
      if (answer.status < 400 || answer.code === 'no_changes') continue
      refuseOutside(answer)
      problems.set(node.id, answer.detail)
      return false
    }
    return true
  }

  async function remove(id: string, path: string): Promise<void> {
    const answer = await remote.send('DELETE', pathOf(id))
    if (answer.status < 400 || answer.code === 'node_not_found') gone.push(path)
    else {
      refuseOutside(answer)
      problems.set(id, answer.detail)
    }
  }

  /** @throws RemoteRefusal where it is not about the node; RemoteFault: 500 and the like */
  function refuseOutside({ status, code, detail }: RemoteAnswer): void {
    if (status >= 500) throw new RemoteFault(`${remote.url} answers ${status}: ${detail}`)
    if (code === 'org_not_found') throw new RemoteRefusal(`${remote.url}: ${detail}`, code)
  }

  function pathOf(id: string): string {
    return `${org}/nodes/${id}`
  }
}
