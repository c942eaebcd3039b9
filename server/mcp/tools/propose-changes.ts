/** The tool that proposes changes of many nodes at once, also new and deleted ones. */

import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { Output } from '../../../spec/client/api.ts'
import * as limits from '../../base/limits.ts'
import { answer, list } from '../answer.ts'
import { isKnownCode } from '../codes.ts'
import { asItem, brief, own } from '../quoted.ts'
import { factsOf, ToolError } from '../refusals.ts'
import { changeSetPage, type Session } from '../session.ts'
import { commitId, connectionType, maxChars, nodeId, orgId, properties, tool } from '../tool.ts'
import { changedFiles, changesAt, requireChanges } from './proposals.ts'

/** The most nodes of one call. A message has at most 1 MiB. */
const mostItems = 20
const mostConnections = 100
const shownTitle = 240
const shownProblem = 300

/** The id of a node, or the `ref` of an item. */
const nodeName = z.string().min(1).max(200)

const item = z.strictObject({
  node_id: nodeId.optional().describe('Of a change or deletion'),
  delete: z.literal(true).optional(),
  changes: changedFiles.optional().describe('As for propose_change'),
  set_properties: properties.optional().describe('New values of properties. null removes one'),
  expected_head: commitId.optional().describe('The commit that you read'),
  ref: nodeName.optional().describe('A name for a new node in `parents` and `connections` of other items'),
  title: z.string().min(1).max(limits.title).optional().describe('Of a new node, as the fields below'),
  text: z.string().optional().describe('As Markdown'),
  tags: z.array(z.string().min(1).max(limits.tag)).max(limits.tags).optional(),
  properties: properties.optional(),
  parents: z.array(nodeName).max(100).optional().describe('Ids or refs'),
  connections: z
    .array(
      z.strictObject({
        target: nodeName.describe('An id or a ref'),
        type: connectionType.optional(),
        label: z.string().max(limits.edgeLabel).optional(),
      }),
    )
    .max(mostConnections)
    .optional(),
})

type Item = z.infer<typeof item>

export const proposeChanges = tool({
  name: 'propose_changes',
  title: 'Propose changes of several nodes',
  description:
    'Proposes new nodes, changes and deletions together, for example those that follow from one source. Nothing changes until users approve and merge all of it. Each item is a new node (`title`), a change (`node_id` with `changes` or `set_properties`) or a deletion (`node_id` with `delete`). Use a `ref` to link new nodes to each other. A repeated call returns the existing proposal, if main of its nodes has not moved.',
  access: 'propose',
  isIdempotent: true,
  operations: ['openChangeSet', 'getBranch', 'getFile'],
  input: z.strictObject({
    org_id: orgId,
    title: z.string().min(1).max(limits.title).describe('Summary of all changes, in one line'),
    description: z.string().max(20_000).default('').describe('Why, with sources'),
    items: z.array(item).min(1).max(mostItems),
    max_chars: maxChars,
  }),
  run: async (session, { org_id, title, description, items, max_chars }) => {
    const nodes = []
    for (const [at, one] of items.entries())
      if (!isDeletion(one))
        nodes.push(await nodeOf(session, org_id, one).catch((error) => refuseItem(session, at, error)))
    const deletions = items.flatMap(({ node_id, delete: isDeleted, expected_head }) =>
      isDeleted && node_id !== undefined ? { node_id, ...(expected_head !== undefined && { expected_head }) } : [],
    )
    const body = { ...(nodes.length > 0 && { nodes }), ...(deletions.length > 0 && { deletions }) }
    const id = idOf([org_id, title, description, body])
    const { change_set } = await session.api.openChangeSet({
      path: { org_id },
      body: { id, title, description, require_mergeable: true, ...body },
    })
    return answerOf(session, org_id, change_set, max_chars)
  },
  where: ({ items }, [, list, index, ...rest]) => {
    const isListed = (one: Item) => isDeletion(one) === (list === 'deletions')
    const item = list === 'items' ? index : items.indexOf(items.filter(isListed)[Number(index)] as Item)
    return index === undefined ? String(list) : ['items', item, ...rest].join('.')
  },
})

function isDeletion(one: Item): boolean {
  return one.delete === true && one.node_id !== undefined
}

/** Codes of refusals that are about the item. */
const ofItem: readonly number[] = [403, 404, 409, 422]

/** Names the item in its refusal. @throws ToolError; the error, if it is not about the item */
function refuseItem(session: Session, at: number, error: unknown): never {
  const { status, code, message, problems, isOwn, currentHead } = factsOf(session, error)
  if (!ofItem.includes(status)) throw error
  const within = problems.map(({ loc, ...problem }) => ({ ...problem, loc: ['body', 'items', at, ...loc.slice(1)] }))
  const whole = isOwn && currentHead === undefined ? [] : [{ loc: ['body', 'items', at], msg: message }]
  const own = isOwn ? `items.${at}: ${message}` : `items.${at} was refused`
  throw new ToolError(status, code, own, within.length > 0 ? within : whole, currentHead)
}

/** Returns an item of the API. @throws ToolError invalid, if it is not one of the three kinds */
async function nodeOf(session: Session, org_id: string, one: Item) {
  const { node_id, changes = [], set_properties, expected_head, ref, title, text, tags, properties, parents } = one
  if (node_id === undefined) {
    if (title === undefined || changes.length > 0 || set_properties || expected_head !== undefined || one.delete)
      throw new ToolError(422, 'invalid', 'A new node has a title and no changes; other items have node_id')
    return {
      title,
      ...(ref !== undefined && { ref }),
      ...(text !== undefined && { text_content: text }),
      ...(tags && { tags }),
      ...(properties && { properties }),
      ...(parents && { parents }),
      ...(one.connections && {
        connections: one.connections.map(({ target, type, label }) => ({
          target,
          ...(type !== undefined && { type }),
          ...(label !== undefined && { label }),
        })),
      }),
    }
  }
  requireChanges({ changes, set_properties })
  const { head } = await session.api.getBranch({ path: { org_id, node_id, branch: 'main' } })
  if (expected_head !== undefined && expected_head !== head)
    throw new ToolError(409, 'head_moved', 'main has moved', [], head)
  const made = await changesAt(session, { org_id, node_id, changes, set_properties }, head)
  return {
    id: node_id,
    expected_head: head,
    changes: made.map(({ path, content }) =>
      content === null ? { action: 'delete' as const, path } : { action: 'put' as const, path, content },
    ),
  }
}

/** Returns a UUID that is a hash, of version 8. So a repeated call finds the proposal. */
function idOf(facts: unknown): string {
  const hash = createHash('sha256').update(JSON.stringify(facts)).digest('hex')
  return [
    hash.slice(0, 8),
    hash.slice(8, 12),
    `8${hash.slice(13, 16)}`,
    `8${hash.slice(17, 20)}`,
    hash.slice(20, 32),
  ].join('-')
}

type ChangeSet = Output<'getChangeSet'>['change_set']

function answerOf(session: Session, org_id: string, set: ChangeSet, maxChars: number): string {
  const { number, items, status, can_merge, merge_reasons } = set
  const count = (act: string) => items.filter((one) => one.act === act).length
  const state = status === 'open' ? own`can_merge: ${can_merge}` : own`status: ${status}`
  const why = can_merge ? '' : ` (${merge_reasons.filter(isKnownCode).join(', ')})`
  const lead = [
    own`Proposal ${number} of ${items.length} nodes: ${changeSetPage(session, org_id, number)}`,
    `${own`New: ${count('create')}; changed: ${count('change')}; deleted: ${count('delete')}. `}${state}${why}.`,
    'No node has changed. Users review the proposal on that page, and merge all of it or close it.',
  ]
  const facts = items.map(({ node_id, act, title, problems }) =>
    asItem({
      ...{ node_id, act, title: brief(title, shownTitle) },
      ...(problems.length > 0 && {
        problems: problems.map(({ path, reason }) => brief(`${path}: ${reason}`, shownProblem)),
      }),
    }),
  )
  return answer(maxChars, lead, [list({ of: 'nodes', items: facts })])
}
