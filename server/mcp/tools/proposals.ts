/** Tools that propose: a change of files, a connection. A person merges. */

import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { OperationId } from '../../../spec/client/api.ts'
import { ToolRefusal, told } from '../refusals.ts'
import { proposalPage, type Session } from '../session.ts'
import { anyNodeId, commitId, nodeId, orgId, tool } from '../tool.ts'

const mostFiles = 100

interface Change {
  readonly path: string
  readonly content: string | null
}

interface Proposal {
  readonly org_id: string
  readonly node_id: string
  readonly title: string
  readonly description: string
  readonly changes: readonly Change[]
  readonly expected_head?: string | undefined
}

const operations: readonly [OperationId, ...OperationId[]] = [
  'getBranch',
  'createBranch',
  'createCommit',
  'openPull',
  'listPulls',
  'getPull',
  'deleteBranch',
]

export const proposeChange = tool({
  name: 'propose_change',
  title: 'Propose a change',
  description:
    'Proposes new contents of files of one node, or their removal, for a person to read and merge; the node stays as it is until then. The text is content.md; title, tags and properties are in node.json; read a file before you change it, for its whole content is replaced. The same call again finds the same proposal.',
  writes: true,
  operations,
  input: z.strictObject({
    org_id: orgId,
    node_id: nodeId,
    title: z.string().min(1).max(500).describe('What the change does, in a line'),
    description: z.string().max(20_000).default('').describe('Why, with sources'),
    changes: z
      .array(
        z.strictObject({
          path: z.string().min(1).max(1_024),
          content: z.string().nullable().describe('The whole file; null removes it'),
        }),
      )
      .min(1)
      .max(mostFiles),
    expected_head: commitId.optional().describe('The commit that was read; refused if main has moved since'),
  }),
  run: propose,
  where: ({ changes }, loc) => fieldOf(changes, loc),
})

export const connect = tool({
  name: 'connect',
  title: 'Propose a connection',
  description:
    'Proposes a typed connection from one node to another, for a person to merge. Types are words such as is_a, part_of, feeds_on.',
  writes: true,
  operations,
  input: z.strictObject({
    org_id: orgId,
    source: anyNodeId.describe('The node that the connection leaves'),
    target: anyNodeId.describe('The node that it leads to'),
    type: z
      .string()
      .regex(/^[a-z][a-z0-9_]{0,63}$/, 'Small letters, digits and _')
      .default('related_to'),
    label: z.string().max(500).default(''),
    description: z.string().max(20_000).default('').describe('Why, with sources'),
  }),
  run: (session, { org_id, source, target, type, label, description }) => {
    const key = hashOf([target.toLowerCase(), type])
    const content = { target: target.toLowerCase(), type, ...(label === '' ? {} : { label }) }
    return propose(session, {
      org_id,
      node_id: source,
      title: `Connect to ${target.toLowerCase()} as ${type}`,
      description,
      changes: [{ path: `connections/${key}.json`, content: `${JSON.stringify(content, undefined, 2)}\n` }],
    })
  },
})

/**
 * A branch, a commit on it, a request. The branch's name follows from main's head and the change: the same call again goes on
 * where one has ended that was cut off, and a second of two at the same time finds what the first has made.
 */
async function propose(session: Session, proposal: Proposal): Promise<string> {
  const { api } = session
  const { org_id, node_id, title, description, changes, expected_head } = proposal
  const at = { org_id, node_id }
  const { head } = await api.getBranch({ path: { ...at, branch: 'main' } })
  if (expected_head !== undefined && expected_head !== head)
    throw new ToolRefusal(
      409,
      'head_moved',
      `main is now at ${head}, not at ${expected_head}; read the node again and propose on what it says now`,
    )
  const name = `agent/${hashOf([head, title, description, changes])}`
  const isNew = await unless(session, 'branch_exists', () =>
    api.createBranch({ path: at, body: { name, from: head } }),
  ).then((made) => made !== undefined)
  if (!isNew) await requireNotClosed(session, proposal, name)
  try {
    const message = description === '' ? title : `${title}\n\n${description}`
    const commit = () =>
      api.createCommit({ path: { ...at, branch: name }, body: { message, changes: written(changes) } })
    await (isNew ? commit() : unless(session, 'no_changes', commit))
    return await open(session, proposal, name)
  } catch (error) {
    // What was refused leaves nothing. What has failed may have happened: the same call finds it.
    const { status } = told(session, error)
    if (isNew && status >= 400 && status < 500 && status !== 429)
      await api.deleteBranch({ path: { ...at, branch: name } }).catch((failure: unknown) => session.ends(failure))
    throw error
  }
}

/** @throws ToolRefusal: a person has closed it */
async function requireNotClosed(session: Session, { org_id, node_id }: Proposal, name: string): Promise<void> {
  const closed = await session.api.listPulls({ path: { org_id, node_id }, query: { status: 'closed', limit: 200 } })
  const number = closed.pull_requests.find(({ source_branch }) => source_branch === name)?.number
  if (number === undefined) return
  const page = proposalPage(session, org_id, node_id, number)
  throw new ToolRefusal(409, 'closed', `Proposal ${number} says the same, and was closed: ${page}`)
}

async function open(
  session: Session,
  { org_id, node_id, title, description }: Proposal,
  name: string,
): Promise<string> {
  const { api } = session
  const at = { org_id, node_id }
  const { pr } = await api
    .openPull({ path: at, body: { source_branch: name, title, description } })
    .catch((error: unknown) => {
      const { code, number } = told(session, error)
      if (code !== 'pull_request_exists' || number === undefined) throw error
      return api.getPull({ path: { ...at, number } })
    })
  const { number, source_commit, can_merge, merge_reasons, merge_problems } = pr
  if (merge_reasons.includes('invalid_content')) {
    const problems = merge_problems.map(({ path, reason }) => ({ loc: ['file', path], msg: reason }))
    throw new ToolRefusal(409, 'invalid_content', 'No merge would take what these files say', problems)
  }
  return [
    `Proposal ${number} of node ${node_id} is open: ${proposalPage(session, org_id, node_id, number)}`,
    `Branch ${name}, commit ${source_commit}; can_merge: ${can_merge}${can_merge ? '' : ` (${merge_reasons.join(', ')})`}.`,
    'The node is as it was. A person reads the proposal on that page, and merges or closes it.',
  ].join('\n')
}

function written(changes: readonly Change[]) {
  return changes.map(({ path, content }) =>
    content === null ? { action: 'delete' as const, path } : { action: 'put' as const, path, content },
  )
}

/** Undefined where it is refused with that code. */
async function unless<T>(session: Session, code: string, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (told(session, error).code !== code) throw error
    return undefined
  }
}

/** 48 bits. */
function hashOf(facts: unknown): string {
  return createHash('sha256').update(JSON.stringify(facts)).digest('hex').slice(0, 12)
}

/** `body.changes.3.content` by the path of the file. */
function fieldOf(changes: readonly Change[], [, list, index, ...rest]: readonly (string | number)[]): string {
  const path = list === 'changes' && typeof index === 'number' ? changes[index]?.path : undefined
  return path === undefined ? [list, index, ...rest].filter((part) => part !== undefined).join('.') : path
}
