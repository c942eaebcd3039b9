/** Writes a planned folder to a remote Grove. New nodes are sent in batches, changed ones in a commit each. */
import { objectId } from '../../../../gitstore/objects/object-format.ts'
import { plural } from '../../../base/plural.ts'
import type { PathProblem } from '../../../domain/format/path-problem.ts'
import { liesIn } from '../../../domain/format/paths.ts'
import {
  inTurn,
  type Remote,
  type RemoteAnswer,
  RemoteError,
  RemoteRefusalError,
} from '../../../domain/net/remote-grove.ts'
import type { NodeFiles } from '../../../domain/nodes/node-creation.ts'
import { isJsonOfNode, isSameJson } from '../../../domain/nodes/same-json.ts'
import { type ImportedNode, isImports, withoutEdgesTo } from '../apply/imported-nodes.ts'
import { type ImportInput, lostEdges, type Statuses } from '../apply/imports.ts'
import { historySchema, pagesOf, treeSchema } from './answers.ts'
import { createInBatches } from './batches.ts'
import { changesOf, messageOf } from './items.ts'

/** Says how to continue the import. */
function continuation(error: RemoteError | RemoteRefusalError): string {
  const { code } = error instanceof RemoteRefusalError ? error : {}
  if (code === 'token_scope')
    return '. An import needs a personal access token with write access to this organisation. Create one, and run the same command with it'
  return code === 'forbidden' ? '' : '. Run the same command to continue'
}

interface Written {
  readonly statuses: Statuses
  /** Ids of nodes that differ, and whose last commit was not an import's. */
  readonly edited: ReadonlySet<string>
  readonly removed: readonly string[]
  readonly problems: readonly PathProblem[]
}

/**
 * Writes the plan like applyImport. A repeated call completes an interrupted one.
 *
 * Every node is complete at all times, except edges to later nodes and files that do not fit into one request.
 *
 * @param org the path of the organisation
 * @param known the ids of its nodes
 * @throws RemoteRefusalError and RemoteError, whose messages say how much was written, which stays; the reason of the
 * signal
 */
export async function writeRemotely(
  remote: Remote,
  org: string,
  known: ReadonlySet<string>,
  input: ImportInput,
): Promise<Written> {
  const { nodes, removed, dryRun = false, onProgress } = input
  const [statuses, problems, gone, edited] = [new Map(), new Map<string, string>(), [] as string[], new Set<string>()]
  const steps = nodes.length + removed.length
  const progress = () => onProgress(Math.min(statuses.size + problems.size + gone.length, steps), steps)
  const writing: Writing = { remote, org, nodes, statuses, problems, gone, edited, progress }
  try {
    const differences = await compareAll(writing, known)
    const fresh = nodes.filter(({ id }) => !differences.has(id))
    if (dryRun) for (const { id } of fresh) statuses.set(id, 'created')
    if (dryRun) for (const [id, one] of differences) statuses.set(id, isNone(one) ? 'unchanged' : 'updated')
    else await writeAll(writing, differences, fresh)
    for (const { id, path } of removed) {
      if (!dryRun) await remove(writing, id, path)
      else gone.push(path)
      progress()
    }
  } catch (error) {
    const done = [...statuses.values()].filter((status) => status !== 'unchanged').length
    if (dryRun || !(error instanceof RemoteError || error instanceof RemoteRefusalError)) throw error
    const message = `${error.message}; ${done} of ${plural(nodes.length, 'node')} were written${continuation(error)}`
    throw error instanceof RemoteError ? new RemoteError(message) : new RemoteRefusalError(message, error.code)
  }
  const refused = [...nodes, ...removed].flatMap(({ id, path }) => {
    const reason = problems.get(id)
    return reason === undefined ? [] : [{ path, reason }]
  })
  return { statuses, edited, removed: gone, problems: refused }
}

/** The shared state of one import. */
interface Writing {
  readonly remote: Remote
  /** The path of the organisation. */
  readonly org: string
  readonly nodes: readonly ImportedNode[]
  readonly statuses: Map<string, 'created' | 'updated' | 'unchanged'>
  /** The reasons of refused nodes, by id. */
  readonly problems: Map<string, string>
  /** Paths of removed nodes. */
  readonly gone: string[]
  readonly edited: Set<string>
  progress(): void
}

/** Compares the existing nodes with the plan. */
async function compareAll(
  { remote, org, nodes, edited }: Writing,
  known: ReadonlySet<string>,
): Promise<Map<string, Difference>> {
  const found = new Map<string, Difference>()
  await inTurn(
    nodes.filter(({ id }) => known.has(id)),
    async ({ id, files }) => {
      const path = pathOf(org, id)
      const difference = await compareNode(remote, path, files)
      if (!difference) return
      found.set(id, difference)
      if (!isNone(difference) && (await isEdited(remote, path))) edited.add(id)
    },
  )
  return found
}

/** Creates the new nodes, then commits to those that differ. */
async function writeAll(
  writing: Writing,
  differences: ReadonlyMap<string, Difference>,
  fresh: readonly ImportedNode[],
): Promise<void> {
  const { remote, org, nodes, statuses, problems, progress } = writing
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
  const filesOf = (node: ImportedNode) => files.get(node.id) ?? node.files
  const updateOne = (node: ImportedNode) => update(writing, node, filesOf(node), differences.get(node.id))
  // Parents before children, one after the other, so that no cycle exists in between.
  for (const node of changed.filter(movesParents)) await updateOne(node)
  await inTurn(
    changed.filter((node) => !movesParents(node)),
    updateOne,
  )
  await inTurn(unfinished, async (node) => {
    const kept = filesOf(node)
    await commit(writing, node, kept, await compareNode(remote, pathOf(org, node.id), kept))
  })
}

async function update(
  writing: Writing,
  node: ImportedNode,
  kept: NodeFiles,
  { puts, deletes }: Difference = noDifference,
): Promise<void> {
  const left = { puts: puts.filter((path) => kept.has(path)), deletes }
  const isWritten = isNone(left) || (await commit(writing, node, kept, left))
  if (isWritten) writing.statuses.set(node.id, isNone(left) ? 'unchanged' : 'updated')
  writing.progress()
}

/** Commits the difference. Returns false if it is refused, and records the problem. */
async function commit(
  { remote, org, problems }: Writing,
  node: ImportedNode,
  files: NodeFiles,
  difference: Difference = noDifference,
): Promise<boolean> {
  for (const changes of changesOf(files, difference)) {
    const body = `{"message":${JSON.stringify(messageOf(node))},"changes":[${changes.join(',')}]}`
    const answer = await remote.send('POST', `${pathOf(org, node.id)}/tree/main/commits`, body)
    // no_changes: sent twice, because the first answer was lost.
    if (answer.status < 400 || answer.code === 'no_changes') continue
    refuseOutside(remote, answer)
    problems.set(node.id, answer.detail)
    return false
  }
  return true
}

async function remove({ remote, org, problems, gone }: Writing, id: string, path: string): Promise<void> {
  const answer = await remote.send('DELETE', pathOf(org, id))
  if (answer.status < 400 || answer.code === 'node_not_found') gone.push(path)
  else {
    refuseOutside(remote, answer)
    problems.set(id, answer.detail)
  }
}

/** @throws RemoteRefusalError if the refusal is not about the node; RemoteError for 500 and above */
function refuseOutside({ url }: Remote, { status, code, detail }: RemoteAnswer): void {
  if (status >= 500) throw new RemoteError(`${url} answers ${status}: ${detail}`)
  if (code === 'org_not_found') throw new RemoteRefusalError(`${url}: ${detail}`, code)
}

function pathOf(org: string, id: string): string {
  return `${org}/nodes/${id}`
}

/** The difference between the planned files of a node and the remote ones. */
interface Difference {
  readonly puts: readonly string[]
  readonly deletes: readonly string[]
}

/** True if the last commit of main was not an import's. @throws the errors of Remote.read */
async function isEdited(remote: Remote, node: string): Promise<boolean> {
  const { history } = await remote.read(historySchema, 'GET', `${node}/tree/main/commits?limit=1`)
  return history.some(({ message }) => !isImports(message))
}

const noDifference: Difference = { puts: [], deletes: [] }

function isNone({ puts, deletes }: Difference): boolean {
  return puts.length + deletes.length === 0
}

/** True if the remote JSON file has the same content in other bytes. */
async function saysThere(remote: Remote, node: string, path: string, bytes: Buffer): Promise<boolean> {
  const { status, body } = await remote.send('GET', `${node}/tree/main/raw/${path}`)
  return status < 400 && isSameJson(path, bytes.toString(), JSON.stringify(body) ?? '', '')
}

/** Compares a node's files; undefined if the remote node does not exist. @throws the errors of Remote.read */
async function compareNode(remote: Remote, node: string, files: NodeFiles): Promise<Difference | undefined> {
  const there = new Map<string, string>()
  try {
    for await (const { entity_key, object_id, mode } of pagesOf(
      remote,
      `${node}/tree/main`,
      treeSchema,
      ({ entities }) => entities,
    ))
      there.set(entity_key, mode === '100644' ? object_id : '')
  } catch (error) {
    if (error instanceof RemoteRefusalError && error.code === 'node_not_found') return undefined
    throw error
  }
  const puts: string[] = []
  for (const [path, bytes] of files) {
    const known = there.get(path)
    if (known === (await objectId('blob', bytes))) continue
    if (!known || !isJsonOfNode(path) || !(await saysThere(remote, node, path, bytes))) puts.push(path)
  }
  return { puts, deletes: [...there.keys()].filter((path) => !files.has(path)) }
}
