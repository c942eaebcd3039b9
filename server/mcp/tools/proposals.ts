/** The tools that propose changes to files or connections. No tool merges. */

import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { OperationId, Output } from '../../../spec/client/api.ts'
import * as limits from '../../base/limits.ts'
import { mergeProperties } from '../../domain/format/merged-properties.ts'
import { type PassageEdit, replacePassages } from '../../domain/format/text-edits.ts'
import { diffWords } from '../../pages/text/word-diff.ts'
import { isKnownCode } from '../codes.ts'
import { own } from '../quoted.ts'
import { factsOf, ToolError } from '../refusals.ts'
import { changeSetPage, proposalPage, type RefusalFacts, type Session } from '../session.ts'
import { commitId, connectionType, mostContent, nodeId, orgId, properties, tool } from '../tool.ts'

const mostFiles = 100
/** The most edits of a file. */
const mostEdits = 100

/** A new content of a file, or edits of its content on main. Null removes it. */
interface Asking {
  readonly path: string
  readonly content?: string | null | undefined
  readonly edits?: readonly PassageEdit[] | undefined
}

interface Change {
  readonly path: string
  readonly content: string | null
}

interface Proposal {
  readonly org_id: string
  readonly node_id: string
  readonly title: string
  readonly description: string
  readonly changes: readonly Asking[]
  /** Properties to set in node.json. Null removes one. */
  readonly set_properties?: Readonly<Record<string, unknown>> | undefined
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
  'compareCommits',
  'getChangeSet',
  'getFile',
  'listCommits',
]

/** Changes of files, as the input of a tool. */
export const changedFiles = z
  .array(
    z.strictObject({
      path: z.string().min(1).max(1_024),
      edits: z
        .array(z.strictObject({ old: z.string().min(1), new: z.string() }))
        .min(1)
        .max(mostEdits)
        .optional()
        .describe('Parts to replace. Each `old` is copied from the file, and occurs there exactly once'),
      content: z
        .string()
        .max(mostContent)
        .nullable()
        .optional()
        .describe('The new content of the whole file; null removes the file'),
    }),
  )
  .max(mostFiles)

export const proposeChange = tool({
  name: 'propose_change',
  title: 'Propose a change',
  description:
    'Proposes changes of files of one node, and new values of its properties. The node does not change until a user merges the proposal. The text is in content.md, title and tags are in node.json. To change a part of a file, pass `edits`; all else stays. `content` replaces the whole file, so read all of it before. A change that breaks a rule of a strict type is refused, with a line for each field. The answer counts the lines and words that the proposal removes and adds. If your open `change_set` has the node, the change joins it. A repeated call returns the existing proposal, if main has not moved and the proposal is not closed.',
  access: 'propose',
  isIdempotent: true,
  operations,
  input: z.strictObject({
    org_id: orgId,
    node_id: nodeId,
    title: z.string().min(1).max(limits.title).describe('Summary of the change, in one line'),
    description: z.string().max(20_000).default('').describe('Why, with sources'),
    changes: changedFiles.default([]),
    set_properties: properties
      .optional()
      .describe(
        'New values of properties by name, such as {"serves": 4}. null removes one. All others stay as they are',
      ),
    expected_head: commitId
      .optional()
      .describe('The commit that you read. The call is refused if main has moved since'),
  }),
  run: (session, proposal) => {
    requireChanges(proposal)
    return propose(session, proposal)
  },
  where: ({ changes }, loc) => fieldOf(changes, loc),
})

export const connect = tool({
  name: 'connect',
  title: 'Propose a connection',
  description:
    'Proposes a typed connection from one node to another. It takes effect when a user merges the proposal. Types are words such as is_a, part_of, feeds_on. A repeated call returns the existing proposal, if main has not moved and the proposal is not closed.',
  access: 'propose',
  isIdempotent: true,
  operations,
  input: z.strictObject({
    org_id: orgId,
    node_id: nodeId.describe('The node where the connection starts. The proposal belongs to this node'),
    target: nodeId.describe('The node where the connection ends'),
    type: connectionType.default('related_to'),
    label: z.string().max(limits.edgeLabel).default(''),
    description: z.string().max(20_000).default('').describe('Why, with sources'),
  }),
  run: (session, { org_id, node_id, target, type, label, description }) => {
    const key = hashOf([target.toLowerCase(), type])
    const content = { target: target.toLowerCase(), type, ...(label === '' ? {} : { label }) }
    return propose(session, {
      org_id,
      node_id,
      title: `Connect to ${target.toLowerCase()} as ${type}`,
      description,
      changes: [{ path: `connections/${key}.json`, content: `${JSON.stringify(content, undefined, 2)}\n` }],
    })
  },
})

const json = 'node.json'

/** @throws ToolError without a change, or with two new contents of node.json */
export function requireChanges({ changes, set_properties }: Pick<Proposal, 'changes' | 'set_properties'>): void {
  if (changes.length === 0 && Object.keys(set_properties ?? {}).length === 0)
    throw new ToolError(422, 'invalid', 'Nothing was proposed: pass `changes`, `set_properties` or both')
  const unclear = changes.findIndex(({ content, edits }) => (content === undefined) === (edits === undefined))
  if (unclear >= 0)
    throw new ToolError(422, 'invalid', `Pass either \`edits\` or \`content\` for the file of changes.${unclear}`)
  if (set_properties !== undefined && changes.some(({ path }) => path === json))
    throw new ToolError(422, 'invalid', '`set_properties` changes node.json; leave node.json out of `changes`')
}

/** Largest number of attempts. Each retry has one fewer identical call to compete with. */
const mostTries = 50

/** An identical call created the branch, was refused and removed it. */
class BranchGoneError extends Error {}

async function propose(session: Session, proposal: Proposal): Promise<string> {
  const item = await findItem(session, proposal)
  if (item !== undefined) return amend(session, proposal, item)
  for (let tries = 1; ; tries++) {
    try {
      return await attempt(session, proposal)
    } catch (error) {
      if (!(error instanceof BranchGoneError)) throw error
      if (tries === mostTries) throw new ToolError(503, 'busy', 'Too many calls propose this same change')
    }
  }
}

type Pull = Output<'getPull'>['pr']

/** Finds the open item of the node. */
async function findItem({ api }: Session, { org_id, node_id }: Proposal): Promise<Pull | undefined> {
  const { pull_requests } = await api.listPulls({ path: { org_id, node_id }, query: { limit: 200 } })
  return pull_requests.find(({ change_set }) => change_set !== undefined)
}

/** Commits on the branch of an item, if the change set is the caller's. @throws ToolError item_exists, head_moved */
async function amend(session: Session, proposal: Proposal, item: Pull): Promise<string> {
  const { api } = session
  const { org_id, node_id, title, description, expected_head } = proposal
  const { change_set: number = 0, source_branch: branch, source_commit: head } = item
  const page = changeSetPage(session, org_id, number)
  if (!(await isOwnItem(session, proposal, item)))
    throw new ToolError(
      409,
      'item_exists',
      own`Proposal ${number} has this node, and is not yours to change here: ${page} . Ask its author, or wait until it is merged or closed`,
    )
  if (expected_head !== undefined && expected_head !== head)
    throw new ToolError(409, 'head_moved', own`The branch of the node in proposal ${number} is at ${head}`)
  if (!(await isMade(session, proposal, head))) {
    const changes = written(await changesAt(session, proposal, head))
    const message = description === '' ? title : `${title}\n\n${description}`
    const body = { message, changes, expected_head: head }
    await unless(session, 'no_changes', () => api.createCommit({ path: { org_id, node_id, branch }, body }))
  }
  return [
    own`Your proposal ${number} has the change of node ${node_id}: ${page}`,
    'The node has not changed. Users review the whole proposal on that page, and merge or close it.',
  ].join('\n')
}

/** True if the caller opened both, and the item deletes nothing. */
async function isOwnItem(session: Session, { org_id, node_id }: Proposal, item: Pull): Promise<boolean> {
  const { userId } = await session.caller()
  if (session.nodeId !== undefined || userId === undefined || item.author_id !== userId) return false
  const { change_set: set } = await session.api.getChangeSet({ path: { org_id, number: item.change_set ?? 0 } })
  const listed = set.items.find((one) => one.node_id === node_id.toLowerCase())
  return set.author_id === userId && listed !== undefined && listed.act !== 'delete'
}

/** True if the last commit made these changes already. */
async function isMade(session: Session, proposal: Proposal, head: string): Promise<boolean> {
  const { org_id, node_id } = proposal
  const { history } = await session.api.listCommits({ path: { org_id, node_id, branch: head }, query: { limit: 1 } })
  const parent = history[0]?.parent_commits[0]
  if (parent === undefined) return false
  try {
    for (const { path, content } of await changesAt(session, proposal, parent)) {
      const read = () => session.api.getFile({ path: { org_id, node_id, branch: head, path } })
      if (((await unless(session, 'file_not_found', read))?.content ?? null) !== content) return false
    }
    return true
  } catch (error) {
    if (factsOf(session, error).status >= 500) throw error
    return false
  }
}

/**
 * Creates a branch, a commit on it and a pull request.
 *
 * The branch's name is a hash of main's head and the change, and the commit's parent is that head. So a repeated call
 * continues one that was cut off. If identical calls run at the same time, one creates the proposal and the others find
 * it.
 */
async function attempt(session: Session, proposal: Proposal): Promise<string> {
  const { api } = session
  const { org_id, node_id, title, description, expected_head } = proposal
  const at = { org_id, node_id }
  const { head } = await api.getBranch({ path: { ...at, branch: 'main' } })
  if (expected_head !== undefined && expected_head !== head)
    throw new ToolError(409, 'head_moved', 'main has moved', [], head)
  const changes = await changesAt(session, proposal, head)
  const key = hashOf([head, title, description, changes])
  const { name, made } = await createBranch(session, proposal, key, head)
  if (made === undefined) await requireNotClosed(session, proposal, name)
  try {
    const message = description === '' ? title : `${title}\n\n${description}`
    const body = { message, changes: written(changes), expected_head: head }
    // If the branch is already beyond that head, it has the change.
    await unless(session, 'head_moved', () => api.createCommit({ path: { ...at, branch: name }, body }))
    return await open(session, proposal, name)
  } catch (error) {
    if (made === undefined) throw isGone(factsOf(session, error)) ? new BranchGoneError() : error
    // A refusal leaves nothing behind. After a failure the change may exist, and a repeated call finds it.
    const { status } = factsOf(session, error)
    if (status >= 400 && status < 500 && status !== 429)
      await removeUnused(session, proposal, name).catch((failure: unknown) => session.ends(failure))
    throw error
  }
}

/** Returns the changes of files. Edits and properties change files as they are at this commit. */
export async function changesAt(
  { api }: Session,
  proposal: Pick<Proposal, 'org_id' | 'node_id' | 'changes' | 'set_properties'>,
  head: string,
): Promise<readonly Change[]> {
  const { org_id, node_id, changes, set_properties = {} } = proposal
  const read = async (path: string) => {
    const { content, encoding } = await api.getFile({ path: { org_id, node_id, branch: head, path } })
    return encoding === 'base64' ? undefined : content
  }
  const written: Change[] = []
  for (const [at, { path, content = null, edits }] of changes.entries())
    written.push({ path, content: edits ? edited(at, await read(path), edits) : content })
  if (Object.keys(set_properties).length === 0) return written
  const text = await read(json)
  const merged = text === undefined ? undefined : mergeProperties(text, set_properties)
  if (merged === undefined)
    throw new ToolError(409, 'invalid_content', 'node.json on main is not a JSON object. Replace it with `changes`')
  return [...written, { path: json, content: merged }]
}

/** @param change the position of the file @throws ToolError invalid, not_a_text */
function edited(change: number, text: string | undefined, edits: readonly PassageEdit[]): string {
  if (text === undefined) throw new ToolError(422, 'not_a_text', 'Only files with text can be edited')
  const result = replacePassages(text, edits)
  if ('text' in result) return result.text
  const { at, problem } = result
  throw new ToolError(422, 'invalid', 'Nothing was proposed', [
    { loc: ['body', 'changes', change, 'edits', at, 'old'], msg: problem },
  ])
}

/**
 * Creates a branch for agents. If the caller may change only their own branches, it is below their prefix.
 *
 * A token of one node cannot ask for that prefix, but the refusal names it.
 *
 * @returns `made`: undefined if the branch exists
 */
async function createBranch(session: Session, { org_id, node_id }: Proposal, key: string, from: string) {
  const create = async (name: string) => {
    const make = () => session.api.createBranch({ path: { org_id, node_id }, body: { name, from } })
    return { name, made: await unless(session, 'branch_exists', make) }
  }
  try {
    return await create(`agent/${key}`)
  } catch (error) {
    const [own] = ownPrefix.exec(factsOf(session, error).branchPrefix ?? '') ?? []
    if (own === undefined) throw error
    return create(`${own}agent/${key}`)
  }
}

/** The beginning of a user's own branches, as the spec describes it. With a token that proposes, `agent/` follows. */
const ownPrefix = /^users\/[\da-f]{12}\/(?=(?:agent\/)?$)/

function isGone({ code, problems }: RefusalFacts): boolean {
  return code === 'branch_not_found' || problems.some(({ loc }) => loc.at(-1) === 'source_branch')
}

/** Deletes the branch, unless an identical call has opened a pull request from it. */
async function removeUnused({ api }: Session, { org_id, node_id }: Proposal, name: string): Promise<void> {
  const at = { org_id, node_id }
  const { pull_requests } = await api.listPulls({ path: at, query: { limit: 200 } })
  if (pull_requests.every(({ source_branch }) => source_branch !== name))
    await api.deleteBranch({ path: { ...at, branch: name } })
}

/** @throws ToolError closed, if a user has closed the same proposal */
async function requireNotClosed(session: Session, { org_id, node_id }: Proposal, name: string): Promise<void> {
  const closed = await session.api.listPulls({ path: { org_id, node_id }, query: { status: 'closed', limit: 200 } })
  const number = closed.pull_requests.find(({ source_branch }) => source_branch === name)?.number
  if (number === undefined) return
  const page = proposalPage(session, org_id, node_id, number)
  throw new ToolError(409, 'closed', own`Proposal ${number} made the same change and was closed: ${page}`)
}

async function open(
  session: Session,
  { org_id, node_id, title, description }: Proposal,
  name: string,
): Promise<string> {
  const { api } = session
  const at = { org_id, node_id }
  const { pr } = await api
    .openPull({ path: at, body: { source_branch: name, title, description, require_mergeable: true } })
    .catch((error: unknown) => {
      const { code, number } = factsOf(session, error)
      if (code !== 'pull_request_exists' || number === undefined) throw error
      return api.getPull({ path: { ...at, number } })
    })
  const { number, source_commit, can_merge, merge_reasons } = pr
  const size = await sizeOf(session, at, pr).catch((error: unknown) => session.ends(error))
  const { length: broken } = (pr as Partial<typeof pr>).type_problems ?? [] // an earlier service does not send them
  return [
    own`Proposal ${number} of node ${node_id} is open: ${proposalPage(session, org_id, node_id, number)}`,
    `${own`Branch ${name}, commit ${source_commit}; can_merge: ${can_merge}`}${can_merge ? '' : ` (${merge_reasons.filter(isKnownCode).join(', ')})`}.`,
    ...(broken === 0 ? [] : [own`It breaks ${broken} rules of its type; list_proposals with node_id has them.`]),
    ...(size ? [size] : []),
    'The node has not changed. A user reviews the proposal on that page, and merges or closes it.',
  ].join('\n')
}

/** Counts the lines and words of a proposal. A model then notices what it has left out. */
async function sizeOf(
  { api }: Session,
  path: { readonly org_id: string; readonly node_id: string },
  { source_commit: head, target_commit: base }: Output<'getPull'>['pr'],
): Promise<string | undefined> {
  if (base === null || head === null) return undefined
  const { text } = await api.compareCommits({ path, query: { base, head, text: 'true' } })
  const entities = text?.entities ?? []
  const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0)
  const [removed, added] = [
    sum(entities.map((one) => one.deletions ?? 0)),
    sum(entities.map((one) => one.additions ?? 0)),
  ]
  const lines = entities.flatMap(({ hunks = [] }) => hunks.flatMap((hunk) => hunk.lines))
  const side = (other: 'added' | 'removed') => lines.flatMap(({ kind, text }) => (kind === other ? [] : [text]))
  const isWhole = text?.truncated === false && entities.every(({ truncated }) => !truncated)
  const words = isWhole ? diffWords(side('added').join('\n'), side('removed').join('\n')) : undefined
  const counted = words && own`; ${words.removed} words removed, ${words.added} added`
  return `${own`Files changed: ${text?.total ?? 0}; ${removed} lines removed, ${added} added`}${counted ?? ''}.`
}

function written(changes: readonly Change[]) {
  return changes.map(({ path, content }) =>
    content === null ? { action: 'delete' as const, path } : { action: 'put' as const, path, content },
  )
}

/** Does the work; returns undefined if it is refused with that code. */
async function unless<T>(session: Session, code: string, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (factsOf(session, error).code !== code) throw error
    return undefined
  }
}

/** Returns a hash of 48 bits, in hex. */
function hashOf(facts: unknown): string {
  return createHash('sha256').update(JSON.stringify(facts)).digest('hex').slice(0, 12)
}

/** Returns the path of the file for a place such as `body.changes.3.content`. */
function fieldOf(changes: readonly Asking[], [, list, index, ...rest]: readonly (string | number)[]): string {
  // After the changes of the input comes that of the properties.
  const path = list === 'changes' && typeof index === 'number' ? (changes[index]?.path ?? json) : undefined
  const named = path === undefined ? [list, index, ...rest] : [path, ...(rest[0] === 'edits' ? rest : [])]
  return named.filter((part) => part !== undefined).join('.')
}
